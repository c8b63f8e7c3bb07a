package downstream

import (
	"crypto/rand"
	"strconv"
	"strings"
	"sync"
	"time"

	"goblin-actor/protocol/stream"
)

const (
	defaultReplayEvents = 1024
	defaultReplayBytes  = 16 << 20
	defaultReplayKeep   = 5 * time.Minute
	defaultReplayRetry  = time.Second
)

// ReplayOptions bound what a Replay keeps. The zero value is complete.
type ReplayOptions struct {
	Events int            // messages of all streams together; 0 = 1024
	Bytes  int            // of their frames; 0 = 16 MiB. A frame that is larger is written, but cannot be had again
	Keep   time.Duration  // from when a message was given; 0 = 5 minutes
	Prime  bool           // streams begin with an event without data (MCP 2025-11-25 and newer)
	Retry  time.Duration  // what clients are told to wait before they come back, where Prime is set; 0 = 1 s
	Budget *stream.Budget // what is kept counts; at most half of the budget is used for it
}

// Resumed is what a stream that was opened with Last-Event-ID became.
type Resumed uint8

const (
	// ResumedNothing says that the id names no stream of this session that a GET could go on with, or one that was opened by
	// GET and is forgotten. The Handler treats the stream as one without Last-Event-ID.
	ResumedNothing Resumed = iota
	// ResumedStream says that it goes on with a stream that was opened by GET; the Handler pushes to it as to any other.
	ResumedStream
	// ResumedCall says that it carries what is left of a POST's stream and ends with its answer; the Handler must not push to it.
	ResumedCall
	// ResumeGone says that the POST's stream has ended and been told, or its answer is not kept any more. The Handler refuses.
	ResumeGone
)

// Replay keeps what was sent on the event streams of one session, so that a client whose connection broke gets the
// rest of the same stream with GET and Last-Event-ID (MCP 2025-11-25, basic/transports, resumability and redelivery).
// A broken POST is no cancel: its exchange goes on, what it says is kept here until somebody comes back for it.
//
//	replay := transport.NewReplay(transport.ReplayOptions{Prime: version >= protocol.Version20251125})
//	x.Resumable(replay)                                   // each exchange, when it arrives
//	stream.Resumable(replay)                              // each GET stream, before Accept
//	if stream.Resume(replay, lastEventID) == ResumedCall  // instead of both, for a GET with Last-Event-ID
//	replay.Close()                                        // when the session ends
//
// Ids are unique in the session and say which stream they belong to: "<session>-p<stream>-<number>" for POST, -g for
// GET. When a bound is reached the oldest progress and log messages go first and are counted, then the oldest answers;
// whose answer is gone is told so (ResumeGone). Methods may be called from any goroutine and never block.
type Replay struct {
	o   ReplayOptions
	tag string // tells ids of this session from those of others

	mu      sync.Mutex // taken after an exchange's and a stream's
	tracks  map[uint64]*track
	last    uint64      // number of the newest track
	kept    [2]keptList // all that is kept: messages that may be lost, answers
	events  int
	bytes   int
	dropped uint64
	timer   *time.Timer // runs while something is kept
	closed  bool
}

// ReplayStats says what a Replay holds.
type ReplayStats struct {
	Streams int    // that could be resumed
	Events  int    // messages kept
	Bytes   int    // of their frames
	Dropped uint64 // messages that were never sent and are not kept any more, since it was made
}

// NewReplay returns an empty store for one session.
func NewReplay(o ReplayOptions) *Replay {
	o.Events = orDefault(o.Events, defaultReplayEvents)
	o.Bytes = orDefault(o.Bytes, defaultReplayBytes)
	o.Keep = orDefault(o.Keep, defaultReplayKeep)
	o.Retry = orDefault(o.Retry, defaultReplayRetry)
	r := &Replay{o: o, tag: strings.ToLower(rand.Text()[:8])}
	r.kept[keptAnswers].which = inKind
	r.kept[keptLesser].which = inKind
	return r
}

// Stats returns what is held at this moment.
func (r *Replay) Stats() ReplayStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return ReplayStats{Streams: len(r.tracks), Events: r.events, Bytes: r.bytes, Dropped: r.dropped}
}

// Close forgets everything and ends the streams that were resumed; what comes later is not kept.
func (r *Replay) Close() {
	r.mu.Lock()
	r.closed = true
	var readers []trackReader
	for _, t := range r.tracks {
		if t.call && t.reader != nil {
			readers = append(readers, t.reader)
		}
		r.forget(t)
	}
	if r.timer != nil {
		r.timer.Stop()
	}
	r.mu.Unlock()
	for _, reader := range readers {
		reader.close()
	}
}

// open begins a track. x writes it, or a stream that the caller enters as reader.
func (r *Replay) open(call bool, x trackExchange, reader trackReader) *track {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	kind := "-g"
	if call {
		kind = "-p"
	}
	t := &track{r: r, number: r.last, call: call, name: r.tag + kind + strconv.FormatUint(r.last, 36) + "-", exchange: x, reader: reader}
	t.events.which = inTrack
	if !r.closed {
		if r.tracks == nil {
			r.tracks = make(map[uint64]*track)
		}
		r.tracks[t.number] = t
	}
	return t
}

// find returns the track an event id belongs to and the number of that event, or nil and why there is none.
func (r *Replay) find(id string) (t *track, after uint64, why Resumed) {
	rest, ours := strings.CutPrefix(id, r.tag+"-")
	kind, rest := cutFirst(rest)
	name, number, ok := strings.Cut(rest, "-")
	stream, err := strconv.ParseUint(name, 36, 64)
	after, err2 := strconv.ParseUint(number, 36, 64)
	if !ours || !ok || err != nil || err2 != nil || kind != 'p' && kind != 'g' {
		return nil, 0, ResumedNothing
	}
	why = ResumedNothing
	if kind == 'p' {
		why = ResumeGone
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t = r.tracks[stream]
	if t == nil || t.call != (kind == 'p') || after > t.last || t.call && after < t.lostTo {
		return nil, 0, why
	}
	return t, after, why
}

func cutFirst(s string) (byte, string) {
	if s == "" {
		return 0, ""
	}
	return s[0], s[1:]
}

// sweep drops what is too old. It runs in the timer's goroutine.
func (r *Replay) sweep() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	now := time.Now()
	next := time.Time{}
	for i := range r.kept {
		for k := r.kept[i].first; k != nil && now.Sub(k.at) >= r.o.Keep; k = r.kept[i].first {
			r.drop(k)
		}
		if k := r.kept[i].first; k != nil && (next.IsZero() || k.at.Before(next)) {
			next = k.at
		}
	}
	r.timer = nil
	if !next.IsZero() {
		r.timer = time.AfterFunc(next.Add(r.o.Keep).Sub(now), r.sweep)
	}
}

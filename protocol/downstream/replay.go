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

// ReplayOptions limits what a Replay retains. The zero value selects the defaults.
type ReplayOptions struct {
	Events int            // messages of all streams together; 0 means 1024
	Bytes  int            // size of their frames; 0 means 16 MiB. A larger frame is sent but not retained
	Keep   time.Duration  // how long a message is retained; 0 means 5 minutes
	Prime  bool           // streams begin with an event without data (MCP 2025-11-25 and later)
	Retry  time.Duration  // how long clients should wait before they reconnect, if Prime is set; 0 means 1 s
	Node   string         // prefix of the ids of the events of POSTs; tells other nodes of a cluster which node keeps them; "" = none
	Budget *stream.Budget // counts the retained bytes, which use at most half of it
}

// Resumed is the result of EventStream.Resume.
type Resumed uint8

const (
	// ResumedNothing means that the id belongs to no stream of this session, or to a forgotten stream that a GET had
	// opened. The Handler proceeds as without Last-Event-ID.
	ResumedNothing Resumed = iota
	// ResumedStream means that the stream continues one that a GET opened. The Handler pushes to it.
	ResumedStream
	// ResumedCall means that the stream carries the rest of a POST's stream and ends with its answer. The Handler must not
	// push to it.
	ResumedCall
	// ResumeGone means that the POST's stream was delivered completely, or that its answer is no longer retained. The Handler
	// refuses the stream.
	ResumeGone
)

// Replay retains the messages sent on the event streams of one session. A client that has lost its connection gets
// the rest of a stream with GET and Last-Event-ID (MCP 2025-11-25, basic/transports, resumability and redelivery). A
// lost POST is not canceled: its exchange continues, and its messages are retained until the client reconnects.
//
//	replay := downstream.NewReplay(downstream.ReplayOptions{Prime: version >= protocol.Version20251125})
//	x.Resumable(replay)                                   // each exchange, when it arrives
//	stream.Resumable(replay)                              // each GET stream, before Accept
//	if stream.Resume(replay, lastEventID) == ResumedCall  // instead of both, for a GET with Last-Event-ID
//	replay.Close()                                        // when the session ends
//
// Event ids are unique in the session and name their stream: "<tag>-p<stream>-<number>" for POST, -g for GET. In a cluster,
// those for POST begin with ReplayOptions.Node and the id of the request, see RequestOfEvent.
//
// At the limit of events or bytes, the oldest state, progress and log messages are dropped first, then the oldest answers.
// If the Budget has no room, new messages are not retained. A client whose answer was dropped is informed (ResumeGone).
// Methods may be called from any goroutine and never block.
type Replay struct {
	o   ReplayOptions
	tag string // prefix of the ids of this session

	mu      sync.Mutex // locked after the mutex of a Response or StreamResponse
	tracks  map[uint64]*track
	last    uint64       // number of the newest track
	events  [2]eventList // retained events: droppable, answers
	count   int          // number of retained events
	bytes   int          // size of their frames
	dropped uint64
	timer   *time.Timer // runs while events are retained
	closed  bool
}

// ReplayStats describes the content of a Replay.
type ReplayStats struct {
	Streams int    // streams that can be resumed
	Events  int    // retained messages
	Bytes   int    // size of their frames
	Dropped uint64 // messages that were dropped without having been sent
}

// NewReplay returns an empty store for one session.
func NewReplay(o ReplayOptions) *Replay {
	o.Events = orDefault(o.Events, defaultReplayEvents)
	o.Bytes = orDefault(o.Bytes, defaultReplayBytes)
	o.Keep = orDefault(o.Keep, defaultReplayKeep)
	o.Retry = orDefault(o.Retry, defaultReplayRetry)
	r := &Replay{o: o, tag: strings.ToLower(rand.Text()[:8])}
	r.events[answerEvents].which = inReplay
	r.events[droppableEvents].which = inReplay
	return r
}

// Stats returns the current statistics.
func (r *Replay) Stats() ReplayStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return ReplayStats{Streams: len(r.tracks), Events: r.count, Bytes: r.bytes, Dropped: r.dropped}
}

// Close discards all messages and ends the streams that carry the rest of a POST's stream. Later messages are not
// retained.
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

// open starts a track that is carried by the connection of x or reader. request is the id of the POST's request, raw JSON; nil
// if there is none.
func (r *Replay) open(call bool, request []byte, x trackExchange, reader trackReader) *track {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	prefix, kind := "", "-g"
	if call {
		prefix, kind = r.callPrefix(request), "-p"
	}
	t := &track{r: r, number: r.last, call: call, name: prefix + r.tag + kind + strconv.FormatUint(r.last, 36) + "-", exchange: x, reader: reader}
	t.events.which = inTrack
	if !r.closed {
		if r.tracks == nil {
			r.tracks = make(map[uint64]*track)
		}
		r.tracks[t.number] = t
	}
	return t
}

// find returns the track of an event id and the number of the event. If there is none, it returns nil and the reason.
func (r *Replay) find(id string) (t *track, after uint64, why Resumed) {
	_, rest, ours := strings.Cut(id, r.tag+"-")
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
	if t == nil || !strings.HasPrefix(id, t.name) || after > t.last || t.call && after < t.lostTo {
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

// sweep drops expired events. It runs in the timer's goroutine.
func (r *Replay) sweep() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	now := time.Now()
	next := time.Time{}
	for i := range r.events {
		for e := r.events[i].first; e != nil && now.Sub(e.at) >= r.o.Keep; e = r.events[i].first {
			r.drop(e)
		}
		if e := r.events[i].first; e != nil && (next.IsZero() || e.at.Before(next)) {
			next = e.at
		}
	}
	r.timer = nil
	if !next.IsZero() {
		r.timer = time.AfterFunc(next.Add(r.o.Keep).Sub(now), r.sweep)
	}
}

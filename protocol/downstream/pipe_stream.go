package downstream

import (
	"net/http"
	"sync"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

// PipeStream is one GET of a PipeClient.
type PipeStream struct {
	EventStream
	client   *PipeClient
	mu       sync.Mutex
	state    streamState
	verdict  verdict // of a refusal
	queue    outboxQueue
	path     string // of the endpoint event
	headSeen bool
	primed   bool
	track    *track
	backlog  []*kept
	after    uint64 // the event the client named
	gone     []func()
}

// Open asks for a stream.
func (c *PipeClient) Open(origin Origin) *PipeStream {
	st := &PipeStream{client: c}
	st.EventStream = EventStream{Origin: origin, out: st}
	st.queue.limit, st.queue.budget = orDefault(c.Limit, defaultMaxMessage+stream.Slack), c.Budget
	c.Handler.Open(&st.EventStream)
	return st
}

// Next returns what the client sees next; false while there is nothing.
func (st *PipeStream) Next() (Seen, bool) {
	st.mu.Lock()
	switch st.state {
	case streamAsked, streamOver:
		st.mu.Unlock()
		return Seen{}, false
	case streamRefused:
		v := st.verdict
		st.mu.Unlock()
		st.end()
		return Seen{Status: v.status, Frame: v.Frame, RetryAfter: v.retryAfter, Last: true}, true
	}
	if !st.headSeen {
		st.headSeen = true
		st.mu.Unlock()
		return Seen{Status: http.StatusOK, Stream: true, Session: st.path}, true
	}
	s, last := st.event()
	st.mu.Unlock()
	if last {
		st.end()
		s.Last = true
	}
	return s, last || s.Frame != nil || s.EventID != ""
}

// event takes the next event; last: there is none and none will come. The caller has the lock.
func (st *PipeStream) event() (s Seen, last bool) {
	if st.track != nil && !st.primed {
		st.primed = true
		return Seen{EventID: st.track.id(st.after)}, false
	}
	if len(st.backlog) > 0 {
		k := st.backlog[0]
		st.backlog = st.backlog[1:]
		return Seen{EventID: st.track.id(k.number), Frame: k.Frame}, false
	}
	if item := st.queue.pop(); item != nil {
		return Seen{EventID: st.track.numbered(item.Message, item.weight), Frame: item.Frame}, false
	}
	return Seen{}, st.state == streamClosing
}

// Leave breaks the client's connection.
func (st *PipeStream) Leave() { st.end() }

// Over reports whether nothing more is to be seen.
func (st *PipeStream) Over() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.state == streamOver
}

func (st *PipeStream) accept() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.state == streamAsked {
		st.state = streamOpen
		st.client.more()
	}
}

func (st *PipeStream) endpoint(uri string) {
	st.mu.Lock()
	st.path = uri
	st.mu.Unlock()
	st.accept()
}

func (st *PipeStream) refuse(status int, body []byte, retryAfter time.Duration) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.state == streamAsked {
		st.state, st.verdict = streamRefused, verdict{status: status, Message: protocol.Message{Frame: body}, retryAfter: retryAfter}
		st.client.more()
	}
}

func (st *PipeStream) push(msg protocol.Message, weight Weight, key outboxKey) bool {
	taken, lost := st.put(msg, weight, key, false)
	return taken && !lost
}

func (st *PipeStream) pushTracked(msg protocol.Message, weight Weight, key outboxKey) (taken bool) {
	taken, _ = st.put(msg, weight, key, true)
	return taken
}

func (st *PipeStream) put(msg protocol.Message, weight Weight, key outboxKey, late bool) (taken, lost bool) {
	st.mu.Lock()
	if st.state != streamOpen && !(late && st.state == streamClosing) {
		st.mu.Unlock()
		return false, false
	}
	_, lost = st.queue.push(msg, weight, key)
	st.mu.Unlock()
	if lost {
		st.end()
	}
	st.client.more()
	return true, lost
}

// Waiting is how many bytes wait for the client to read them.
func (st *PipeStream) Waiting() int {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.queue.bytes
}

// Crowded reports whether so much waits in the stream that its client should read before it asks more.
func (st *PipeStream) Crowded() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.queue.budget.Crowded(st.queue.bytes)
}

func (st *PipeStream) close() {
	st.mu.Lock()
	defer st.mu.Unlock()
	switch st.state {
	case streamAsked:
		st.state, st.verdict = streamRefused, verdict{status: http.StatusServiceUnavailable, retryAfter: serverRetryAfter}
	case streamOpen:
		st.state = streamClosing
	}
	st.client.more()
}

func (st *PipeStream) onGone(f func()) {
	st.mu.Lock()
	if st.state != streamOver {
		st.gone = append(st.gone, f)
		st.mu.Unlock()
		return
	}
	st.mu.Unlock()
	f()
}

// resumable gives the stream a track of its own.
func (st *PipeStream) resumable(r *Replay) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.state == streamAsked && st.track == nil {
		st.track = r.open(false, nil, st)
	}
}

// resume makes the stream the writer of the track that lastEvent belongs to, and accepts it.
func (st *PipeStream) resume(r *Replay, lastEvent string) Resumed {
	return r.resume(lastEvent, st, func(t *track, after uint64) (ok, late bool) {
		st.mu.Lock()
		defer st.mu.Unlock()
		if st.state != streamAsked || st.track != nil {
			return false, true
		}
		backlog, ok := t.attach(st, after)
		if ok {
			st.track, st.backlog, st.after, st.state = t, backlog, after, streamOpen
			st.client.more()
		}
		return ok, false
	})
}

// end closes the stream once and tells whoever wanted to know.
func (st *PipeStream) end() {
	st.mu.Lock()
	if st.state == streamOver {
		st.mu.Unlock()
		return
	}
	st.state = streamOver
	gone := st.gone
	st.gone, st.backlog = nil, nil
	if st.track != nil {
		st.track.away(&st.queue, false, nil)
	}
	st.queue.clear()
	st.mu.Unlock()
	for _, f := range gone {
		f()
	}
}

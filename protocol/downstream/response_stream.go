package downstream

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

// streamState is the progress of a StreamResponse.
type streamState uint8

const (
	streamPending  streamState = iota // the Handler has not decided yet
	streamAccepted                    // messages may be pushed; the header is not written yet
	streamRefused
	streamOpen
	streamClosing // takes no more messages; ends once the waiting ones are written
	streamOver
)

// StreamResponse is an EventStream that one HTTP response carries. It calls Wake of its Connection with mu held.
type StreamResponse struct {
	EventStream
	carrier Connection

	mu       sync.Mutex
	state    streamState
	parted   bool     // the retry field at the end of the stream was written or is not needed
	verdict  *verdict // the refusal; nil if the stream was not refused
	queue    outboxQueue
	greeting []byte // the first bytes after the header
	gone     []func()
	track    *track         // nil if the stream cannot be resumed
	backlog  []*replayEvent // messages of the track to write before anything else
	passed   *PassThrough   // another node gives the response; nil = this one does
}

// NewStreamResponse returns the response to a request from origin that opens a stream. conn carries the response. At most
// limit bytes of messages wait for a slow reader; if limit is 0, a default applies.
func NewStreamResponse(origin Origin, conn Connection, budget *stream.Budget, limit int) *StreamResponse {
	st := &StreamResponse{}
	st.init(origin, conn, budget, orDefault(limit, defaultMaxMessage+stream.Slack))
	return st
}

func (st *StreamResponse) init(origin Origin, conn Connection, budget *stream.Budget, limit int) {
	st.EventStream = EventStream{Origin: origin, out: st}
	st.carrier = conn
	st.queue.limit = limit
	st.queue.budget = budget
}

func (st *StreamResponse) accept() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.state != streamPending {
		return
	}
	switch {
	case st.greeting != nil:
	case st.track != nil:
		st.greeting = st.track.appendPrime(nil, 0)
	default:
		st.greeting = []byte(streamComment)
	}
	st.settle(streamAccepted, nil)
}

func (st *StreamResponse) endpoint(uri string) {
	st.mu.Lock()
	if st.state == streamPending {
		st.greeting = fmt.Appendf(nil, "event: endpoint\ndata: %s\n\n", uri)
	}
	st.mu.Unlock()
	st.accept()
}

func (st *StreamResponse) refuse(status int, body []byte, retryAfter time.Duration) {
	v := verdict{status: status, Message: protocol.Message{Frame: body}, retryAfter: retryAfter}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.state == streamPending {
		st.settle(streamRefused, &v)
	}
}

// settle records the Handler's decision. The caller must hold mu.
func (st *StreamResponse) settle(state streamState, v *verdict) {
	st.state, st.verdict = state, v
	st.carrier.Wake()
}

func (st *StreamResponse) push(msg protocol.Message, weight Weight, key outboxKey) Queued {
	done, late := st.put(msg, weight, key, false)
	done.Over = done.Over || late
	return done
}

func (st *StreamResponse) unsent() int { return st.Waiting() }

// pushTracked is like push, but for messages of the track's exchange. taken means that the message will be written or
// retained, even if the stream ends because of it. Until the stream has released the track, it takes every message.
func (st *StreamResponse) pushTracked(msg protocol.Message, weight Weight, key outboxKey) (taken bool) {
	done, _ := st.put(msg, weight, key, true)
	return !done.Over
}

// put queues a message. If tracked is true, a closing stream takes it too. late means that the reader was too far behind, and that the
// stream has ended with the message.
func (st *StreamResponse) put(msg protocol.Message, weight Weight, key outboxKey, tracked bool) (done Queued, late bool) {
	st.mu.Lock()
	if st.state != streamAccepted && st.state != streamOpen && !(tracked && st.state == streamClosing) {
		st.mu.Unlock()
		return Queued{Over: true}, false
	}
	done, late = st.queue.push(msg, weight, key)
	if !late {
		st.carrier.Wake()
	}
	st.mu.Unlock()
	if done.Dropped > 0 {
		st.carrier.DroppedLogs(done.Dropped)
	}
	if late {
		st.end()
		st.carrier.Lost()
	}
	return done, late
}

func (st *StreamResponse) crowded() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.queue.budget.Crowded(st.queue.bytes)
}

func (st *StreamResponse) close() {
	st.mu.Lock()
	defer st.mu.Unlock()
	switch st.state {
	case streamPending:
		st.settle(streamRefused, &verdict{status: http.StatusServiceUnavailable, retryAfter: serverRetryAfter})
	case streamAccepted, streamOpen:
		st.state = streamClosing
		st.carrier.Wake()
	}
}

func (st *StreamResponse) onGone(f func()) {
	st.mu.Lock()
	if st.state == streamOver {
		st.mu.Unlock()
		st.carrier.Run(f)
		return
	}
	st.gone = append(st.gone, f)
	st.mu.Unlock()
}

// Leave reports that the client has closed the connection.
func (st *StreamResponse) Leave() { st.end() }

// Over reports whether the stream has ended.
func (st *StreamResponse) Over() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.state == streamOver
}

// Waiting returns how many bytes wait for the client to read them.
func (st *StreamResponse) Waiting() int {
	st.mu.Lock()
	defer st.mu.Unlock()
	n := st.queue.bytes
	if st.passed != nil {
		n += len(st.passed.waiting)
	}
	return n
}

// end ends the stream and its connection, once, and calls the callbacks of onGone.
func (st *StreamResponse) end() {
	st.mu.Lock()
	if st.state == streamOver {
		st.mu.Unlock()
		return
	}
	st.state = streamOver
	gone := st.gone
	st.gone, st.backlog = nil, nil
	if st.track != nil {
		st.track.detach(&st.queue, false, nil)
	}
	st.queue.clear()
	if st.passed != nil {
		st.passed.wake()
	}
	st.mu.Unlock()
	st.carrier.Kill()
	for _, f := range gone {
		f()
	}
}

// resumable gives the stream a track of its own.
func (st *StreamResponse) resumable(r *Replay) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.state == streamPending && st.track == nil {
		st.track = r.open(false, nil, nil, st)
	}
}

// resume makes the stream the writer of the track that lastEvent belongs to, and accepts it.
func (st *StreamResponse) resume(r *Replay, lastEvent string) Resumed {
	return r.resume(lastEvent, st, func(t *track, after uint64) (ok, late bool) {
		st.mu.Lock()
		defer st.mu.Unlock()
		if st.state != streamPending || st.track != nil {
			return false, true
		}
		backlog, ok := t.attach(st, after)
		if ok {
			st.track, st.backlog = t, backlog
			st.greeting = t.appendPrime(nil, after)
			st.settle(streamAccepted, nil)
		}
		return ok, false
	})
}

// appendWaiting appends waiting messages to dst as events until len(dst) >= most: first the messages that the client
// has missed, then new ones. If the stream is closed before its track ends, a retry field follows, which tells the client
// how long to wait before it reconnects. The caller must hold mu.
func (st *StreamResponse) appendWaiting(dst []byte, most int) []byte {
	if st.passed != nil {
		return st.passed.take(dst)
	}
	if st.track == nil {
		return appendEvents(dst, &st.queue, most)
	}
	for len(dst) < most && len(st.backlog) > 0 {
		k := st.backlog[0]
		st.backlog = st.backlog[1:]
		dst = protocol.AppendSSE(dst, "message", st.track.id(k.number), k.Message)
	}
	if len(st.backlog) > 0 {
		return dst
	}
	dst = st.track.appendEvents(dst, &st.queue, most)
	if st.state == streamClosing && st.queue.empty() && !st.parted {
		if st.parted = true; st.track.r.o.Prime && !st.track.ended() {
			dst = append(st.track.r.appendRetry(dst), '\n')
		}
	}
	return dst
}

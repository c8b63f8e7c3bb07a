package downstream

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

// streamState is how far an event stream has come.
type streamState uint8

const (
	streamAsked    streamState = iota // the Handler has not decided yet
	streamAccepted                    // may be pushed to; its connection is not ours yet
	streamRefused
	streamOpen
	streamClosing // nothing is taken any more; what waits is written, then it ends
	streamOver
)

// streamStray is how many bytes a client may send on a stream, where it has nothing to say, before it is cut off.
const streamStray = 64 << 10

// httpStream is an EventStream over HTTP (GET). It owns its connection: a poller for all streams notices its end (where there is
// none, a goroutine reads), a goroutine exists only while there is something to write, a timer writes comments when nothing
// else was written.
type httpStream struct {
	EventStream
	server *Server
	number uint64      // among all the server had
	wake   *serverConn // whose handler waits for the decision; nil afterwards

	mu       sync.Mutex
	state    streamState
	verdict  *verdict // of a refusal; else nil
	raw      net.Conn
	deadline time.Time // for writing; the writer's
	queue    outboxQueue
	first    []byte // head of the answer, not written yet
	writing  bool   // a writer runs
	beat     bool   // a comment is due
	wrote    time.Time
	timer    *time.Timer
	gone     []func()
	track    *track  // nil: what the connection loses is lost
	backlog  []*kept // of the track, to be written before anything else
	greeting []byte  // what follows the head
	parted   bool    // the client was told when to come back
	stray    int     // bytes the client has sent, where it has nothing to say; the poller's
	lease    Lease   // nil = none
}

// get opens a stream (MCP 2025-11-25, listening for messages from the server). It blocks until the Handler decided.
func (s *Server) get(ctx *fasthttp.RequestCtx, c *serverConn, h *knownHeader, path []byte) {
	why := refusedNothing
	switch {
	case !bodyIsHere(ctx):
		why = refusedMalformed
	case !h.accept.named:
		why = refusedAccept
	case s.stopping.Load():
		why = refusedStopping
	}
	if why != refusedNothing {
		s.refuse(ctx, c, why)
		return
	}
	st := &httpStream{server: s, wake: c}
	st.EventStream = EventStream{Origin: s.originOf(ctx, c, h, path), out: st}
	st.queue.limit = s.maxMessage + stream.Slack
	st.queue.budget = s.options.Budget
	st.lease = c.takeLease()
	s.handler.Open(&st.EventStream)
	switch st.await(c, s.limits.decide) {
	case streamAccepted, streamClosing:
		head := append(streamHead(&ctx.Response.Header), st.greeting...)
		ctx.SetConnectionClose() // makes fasthttp let go of the connection
		if !st.start(c, head) {
			st.end()
		}
	case streamRefused:
		v := st.verdict
		v.head(ctx)
		s.answer(ctx, v.status, v.body())
		st.end()
	default:
		st.end()
		s.refuse(ctx, c, refusedStopping)
	}
}

// await blocks until the Handler accepted or refused, the connection is killed, or the time is over.
func (st *httpStream) await(c *serverConn, limit time.Duration) streamState {
	timeout := c.alarm(limit)
	for {
		st.mu.Lock()
		state := st.state
		st.mu.Unlock()
		if state != streamAsked || c.killed.Load() {
			return state
		}
		select {
		case <-c.wake:
		case <-timeout:
			return streamAsked
		}
	}
}

// streamHead is the answer's head. Its end is the connection's end: no chunks, nothing to finish.
func streamHead(h *fasthttp.ResponseHeader) []byte {
	head := []byte("HTTP/1.1 200 OK\r\nContent-Type: " + typeEvents +
		"\r\nCache-Control: no-cache\r\nX-Accel-Buffering: no\r\nConnection: close\r\n")
	for _, name := range []string{"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Vary"} {
		if value := h.Peek(name); len(value) > 0 {
			head = append(append(append(append(head, name...), ": "...), value...), "\r\n"...)
		}
	}
	return append(head, "\r\n"...)
}

// start takes the connection over; false when the stream has ended meanwhile or no stream may begin any more.
func (st *httpStream) start(c *serverConn, head []byte) bool {
	if !st.server.registerStream(st) {
		return false
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.state != streamAccepted && st.state != streamClosing { // lost already
		st.server.unregisterStream(st)
		return false
	}
	st.raw = c.Take()
	st.raw.SetReadDeadline(time.Time{})
	st.wake, st.first, st.wrote = nil, head, time.Now()
	if st.state == streamAccepted {
		st.state = streamOpen
	}
	st.timer = time.AfterFunc(st.server.keepAlive, st.tick)
	st.attend()
	st.kick()
	return true
}

func (st *httpStream) accept() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.state != streamAsked {
		return
	}
	switch {
	case st.greeting != nil:
	case st.track != nil:
		st.greeting = st.track.appendPrime(nil, 0)
	default:
		st.greeting = []byte(streamComment)
	}
	st.Settle(streamAccepted, nil)
}

func (st *httpStream) endpoint(uri string) {
	st.mu.Lock()
	if st.state == streamAsked {
		st.greeting = fmt.Appendf(nil, "event: endpoint\ndata: %s\n\n", uri)
	}
	st.mu.Unlock()
	st.accept()
}

func (st *httpStream) refuse(status int, body []byte, retryAfter time.Duration) {
	v := verdict{status: status, Message: protocol.Message{Frame: body}, retryAfter: retryAfter}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.state == streamAsked {
		st.Settle(streamRefused, &v)
	}
}

// Settle tells the waiting handler what the Handler decided. The caller has the lock.
func (st *httpStream) Settle(state streamState, v *verdict) {
	st.state, st.verdict = state, v
	st.wake.poke()
}

func (st *httpStream) push(msg protocol.Message, weight Weight, key outboxKey) bool {
	taken, lost := st.put(msg, weight, key, false)
	return taken && !lost
}

// pushTracked is push for the track's exchange: taken means that the message is written or kept, even when the
// stream ends over it. Until the stream has let go of the track it takes everything.
func (st *httpStream) pushTracked(msg protocol.Message, weight Weight, key outboxKey) (taken bool) {
	taken, _ = st.put(msg, weight, key, true)
	return taken
}

func (st *httpStream) put(msg protocol.Message, weight Weight, key outboxKey, late bool) (taken, lost bool) {
	st.mu.Lock()
	if st.state != streamAccepted && st.state != streamOpen && !(late && st.state == streamClosing) {
		st.mu.Unlock()
		return false, false
	}
	dropped, lost := st.queue.push(msg, weight, key)
	if !lost {
		st.kick()
	}
	st.mu.Unlock()
	st.server.counters.droppedLogs.Add(uint64(dropped))
	if lost {
		st.lose()
	}
	return true, lost
}

func (st *httpStream) Crowded() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.queue.budget.Crowded(st.queue.bytes)
}

func (st *httpStream) close() {
	st.mu.Lock()
	defer st.mu.Unlock()
	switch st.state {
	case streamAsked:
		st.Settle(streamRefused, &verdict{status: http.StatusServiceUnavailable, retryAfter: serverRetryAfter})
	case streamAccepted:
		st.state = streamClosing
	case streamOpen:
		st.state = streamClosing
		st.kick()
	}
}

func (st *httpStream) onGone(f func()) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.state == streamOver {
		go f()
		return
	}
	st.gone = append(st.gone, f)
}

// kick starts a writer if the connection is ours and none runs. The caller has the lock.
func (st *httpStream) kick() {
	if !st.writing && st.raw != nil {
		st.writing = true
		go st.write()
	}
}

// write empties the queue and then goes; the stream ends when it was asked to, or the client takes nothing for WriteTimeout.
func (st *httpStream) write() {
	scratch := streamScratch.Get().(*[]byte)
	defer freeScratch(scratch)
	for {
		st.mu.Lock()
		*scratch = append((*scratch)[:0], st.first...)
		if st.beat {
			*scratch = append(*scratch, streamComment...)
		}
		st.first, st.beat = nil, false
		*scratch = st.appendWaiting(*scratch)
		closing := st.state == streamClosing
		if len(*scratch) == 0 || st.state == streamOver {
			st.writing = false
			st.mu.Unlock()
			if closing {
				st.end()
			}
			return
		}
		st.wrote = time.Now()
		st.mu.Unlock()
		if _, err := st.server.write(st.raw, *scratch, &st.deadline); errors.Is(err, os.ErrDeadlineExceeded) {
			st.lose()
			return
		} else if err != nil {
			st.end()
			return
		}
	}
}

// tick writes a comment when nothing was written for KeepAlive. It runs in the timer's goroutine.
func (st *httpStream) tick() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.state == streamOver {
		return
	}
	quiet := time.Since(st.wrote)
	if quiet >= st.server.keepAlive && !st.writing {
		st.beat = true
		st.kick()
		quiet = 0
	}
	st.timer.Reset(max(st.server.keepAlive-quiet, st.server.keepAlive/8))
}

// lose ends a stream whose reader is too slow.
func (st *httpStream) lose() {
	st.server.counters.lostStreams.Add(1)
	st.end()
}

// end closes the connection once and tells whoever wanted to know.
func (st *httpStream) end() {
	st.mu.Lock()
	if st.state == streamOver {
		st.mu.Unlock()
		return
	}
	st.state = streamOver
	gone, raw, lease := st.gone, st.raw, st.lease
	st.gone, st.first, st.backlog, st.lease = nil, nil, nil, nil
	if st.track != nil {
		st.track.away(&st.queue, false, nil)
	}
	st.queue.clear()
	if st.timer != nil {
		st.timer.Stop()
	}
	st.mu.Unlock()
	if raw != nil {
		hangUp(raw)
	}
	if lease != nil {
		lease.Release()
	}
	st.server.unregisterStream(st)
	for _, f := range gone {
		f()
	}
}

package downstream

import (
	"errors"
	"net"
	"os"
	"time"

	"github.com/valyala/fasthttp"

	"goblin-actor/protocol/stream"
)

// streamStray is how many bytes a client may send on a stream before the stream is closed. It should send none.
const streamStray = 64 << 10

// httpStream is a StreamResponse to a GET. It owns its connection. One poller for all streams detects lost connections.
// On systems without a poller, a goroutine that reads does so; over TLS, it starts when the client sends something. A
// goroutine writes only while messages wait. A timer writes comments on an idle stream.
type httpStream struct {
	StreamResponse
	server  *Server
	number  uint64      // unique among the server's streams
	waiting *serverConn // connection whose goroutine waits for the Handler's decision; nil afterwards

	// StreamResponse.mu guards all fields from here on.
	raw      net.Conn
	deadline time.Time // the write deadline; only the writer uses it
	first    []byte    // header of the response, until it is written
	writing  bool      // a writer runs
	beat     bool      // a comment is due
	reading  bool      // read runs; only the poller uses it
	wrote    time.Time // when the last write began
	timer    *time.Timer
	stray    int   // bytes received from the client; only the poller uses it
	lease    Lease // may be nil
}

// get opens a stream (MCP 2025-11-25, listening for messages from the server). It blocks until the Handler has decided.
func (s *Server) get(ctx *fasthttp.RequestCtx, c *serverConn, h *knownHeader, path []byte) {
	why := refusedNothing
	switch {
	case !bodyIsRead(ctx):
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
	st := &httpStream{server: s, waiting: c}
	st.init(s.originOf(ctx, c, h, path), st, s.options.Budget, s.maxMessage+stream.Slack)
	st.lease = c.takeLease()
	s.handler.Open(&st.EventStream)
	switch st.await(c, s.limits.decide) {
	case streamAccepted, streamClosing:
		head := append(streamHead(&ctx.Response.Header), st.greeting...)
		ctx.SetConnectionClose() // makes fasthttp release the connection
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

// await blocks until the Handler has accepted or refused the stream, the connection is killed, or limit has passed.
func (st *httpStream) await(c *serverConn, limit time.Duration) streamState {
	timeout := c.alarm(limit)
	for {
		st.mu.Lock()
		state := st.state
		st.mu.Unlock()
		if state != streamPending || c.killed.Load() {
			return state
		}
		select {
		case <-c.wake:
		case <-timeout:
			return streamPending
		}
	}
}

// streamHead returns the header of the response. The body is not chunked: the end of the connection ends it.
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

// start takes over the connection. It returns false if the stream has already ended or the server is stopping.
func (st *httpStream) start(c *serverConn, head []byte) bool {
	if !st.server.registerStream(st) {
		return false
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.state != streamAccepted && st.state != streamClosing { // already over
		st.server.unregisterStream(st)
		return false
	}
	st.raw = c.take()
	st.raw.SetReadDeadline(time.Time{})
	st.waiting, st.first, st.wrote = nil, head, time.Now()
	if st.state == streamAccepted {
		st.state = streamOpen
	}
	if st.passed == nil {
		st.timer = time.AfterFunc(st.server.keepAlive, st.tick)
	}
	st.watchEnd()
	st.kick()
	return true
}

// Wake wakes the handler that waits for the decision, or starts a writer. The caller must hold mu.
func (st *httpStream) Wake() {
	if st.waiting != nil {
		st.waiting.Wake()
	}
	st.kick()
}

// Watch does nothing: a lost connection is always detected.
func (*httpStream) Watch() {}

// Lost counts a stream whose reader is too slow.
func (st *httpStream) Lost() { st.server.counters.lostStreams.Add(1) }

// DroppedLogs counts dropped log and progress messages.
func (st *httpStream) DroppedLogs(n int) { st.server.counters.droppedLogs.Add(uint64(n)) }

// Run calls f in a goroutine.
func (*httpStream) Run(f func()) { go f() }

// kick starts a writer if the stream owns its connection and none runs. The caller must hold mu.
func (st *httpStream) kick() {
	if !st.writing && st.raw != nil {
		st.writing = true
		go st.write()
	}
}

// write writes the waiting messages and returns. It ends the stream if it is closing or a write fails, for example
// because the client reads too slowly.
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
		*scratch = st.appendWaiting(*scratch, streamBatch)
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
			st.Lost()
			st.end()
			return
		} else if err != nil {
			st.end()
			return
		}
	}
}

// tick writes a comment if nothing was written for KeepAlive. It runs in the timer's goroutine.
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

// Kill closes the connection and releases all resources of the stream.
func (st *httpStream) Kill() {
	st.mu.Lock()
	raw, lease, broken := st.raw, st.lease, st.passed != nil && st.passed.broken
	st.first, st.lease = nil, nil
	if st.timer != nil {
		st.timer.Stop()
	}
	st.mu.Unlock()
	switch {
	case raw == nil:
	case broken:
		cut(raw) // with TLS, the missing alert tells the client that the stream is incomplete
	default:
		hangUp(raw)
	}
	if lease != nil {
		lease.Release()
	}
	st.server.unregisterStream(st)
}

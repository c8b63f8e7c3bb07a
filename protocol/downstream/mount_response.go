package downstream

import (
	"net/http"
	"sync/atomic"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

// mountConn is the Connection that carries a response of a Mount. The goroutine of ServeHTTP does all writing.
type mountConn struct {
	wake   chan struct{} // capacity 1
	killed atomic.Bool
}

func (c *mountConn) Wake() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *mountConn) Kill() {
	c.killed.Store(true)
	c.Wake()
}

func (c *mountConn) Lost()         { c.Kill() }
func (*mountConn) Watch()          {} // the context of the request ends when the client leaves
func (*mountConn) DroppedLogs(int) {}
func (*mountConn) Run(f func())    { go f() }

// flushes reports whether a response can be streamed. A middleware may hide http.Flusher.
func flushes(w http.ResponseWriter) bool {
	for {
		switch v := w.(type) {
		case http.Flusher, interface{ FlushError() error }:
			return true
		case interface{ Unwrap() http.ResponseWriter }:
			w = v.Unwrap()
		default:
			return false
		}
	}
}

// await waits for the answer and writes the response. As on a Server, the response becomes an event stream if a message
// precedes the answer or SSEAfter passes first.
func (q *mountRequest) await(x *Response) {
	defer x.end(true) // no effect if the answer is written
	mayStream := !x.Origin.JSONOnly && !x.noEarlyStream && (x.Frame.Raw != nil || x.Batch != nil)
	late := time.NewTimer(q.sseAfter)
	defer late.Stop()
	ended := q.ended
	for {
		found, _ := x.look() // never stepWait while another node answers
		if found == stepWait && mayStream && time.Since(x.Began) >= q.sseAfter {
			found = stepStream
		}
		switch found {
		case stepAnswer:
			q.writePlain(x)
			return
		case stepStream:
			q.writeStream(x)
			return
		case stepLeave:
			panic(http.ErrAbortHandler) // the response is lost, so the client must not mistake it for an empty but complete one
		}
		select {
		case <-q.conn.wake:
		case <-late.C:
		case <-q.r.Context().Done():
			x.Leave()
			return
		case <-ended:
			ended = nil
			answerSource{x}.stop()
		}
	}
}

// stopped returns the response body for a request that was unanswered when the gateway stopped.
func (x *Exchange) stopped() []byte {
	if x.Frame.Kind != protocol.KindRequest {
		return refusalBodies[refusedStopping]
	}
	return refusalFaults[refusedStopping].AppendTo(nil, x.Frame.IDBytes(), x.Origin.era())
}

// writePlain writes the answer as one body.
func (q *mountRequest) writePlain(x *Response) {
	v, session := x.take()
	if v.status == 0 { // the client has just left
		panic(http.ErrAbortHandler)
	}
	h := q.w.Header()
	if session != "" {
		h.Set("Mcp-Session-Id", session)
	}
	if v.refusal {
		q.refusalHeader(&v)
	}
	var body [][]byte
	if events, ok := v.asEvents(&x.Origin); ok {
		h.Set("Content-Type", typeEvents)
		h.Set("Cache-Control", "no-cache")
		body = [][]byte{events}
	} else if body = v.pieces; body == nil {
		body = [][]byte{v.body()}
	}
	if body[0] != nil && h.Get("Content-Type") == "" {
		h.Set("Content-Type", typeJSON)
	}
	q.w.WriteHeader(v.status)
	for _, piece := range body {
		if q.write(piece) != nil {
			return
		}
	}
	_ = q.rc.SetWriteDeadline(time.Time{})
	x.end(false)
}

// refusalHeader sets the headers of a refusal.
func (q *mountRequest) refusalHeader(v *verdict) {
	h := q.w.Header()
	switch v.status {
	case http.StatusMethodNotAllowed:
		h.Set("Allow", allowOf(q.r.Method))
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", InvalidToken)
	}
	if v.retryAfter > 0 {
		h.Set("Retry-After", retryAfterSeconds(v.retryAfter))
	}
}

// write writes part of a body. The client must read each chunk of serverChunk bytes within WriteTimeout.
func (q *mountRequest) write(p []byte) error {
	for len(p) > 0 {
		_ = q.rc.SetWriteDeadline(time.Now().Add(q.writeTimeout))
		n := min(len(p), serverChunk)
		if _, err := q.w.Write(p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// push writes part of an event stream and flushes it.
func (q *mountRequest) push(p []byte) error {
	if err := q.write(p); err != nil {
		return err
	}
	return q.rc.Flush()
}

// startStream writes the header of an event stream.
func (q *mountRequest) startStream(session string) {
	h := q.w.Header()
	h.Set("Content-Type", typeEvents)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	if session != "" {
		h.Set("Mcp-Session-Id", session)
	}
	q.w.WriteHeader(http.StatusOK)
}

// source is an event stream to write.
type source interface {
	// Read appends waiting messages; last reports the end of the stream. It appends nothing while no message waits.
	Read(dst []byte) (_ []byte, last bool)
	// Over reports whether the stream has ended before its last message.
	Over() bool
	// Leave reports that the client has left.
	Leave()
	// stop makes the stream end soon, because the gateway has stopped.
	stop()
	// passing reports whether another node writes the stream and keeps it alive.
	passing() bool
}

// answerSource is the event stream of a Response. Unlike Response.Read, it does not end the response before its last
// message is written.
type answerSource struct{ *Response }

func (a answerSource) Read(dst []byte) (_ []byte, last bool) {
	a.mu.Lock()
	begin := !a.begun && !a.detached()
	a.mu.Unlock()
	if n := len(dst); begin {
		if dst = a.appendFirst(dst); len(dst) > n {
			return dst, false
		}
	}
	dst, last, err := a.appendWaiting(dst, streamBatch)
	return dst, last && err == nil
}

func (a answerSource) stop() {
	if a.passing() {
		a.breakPassed() // another node may be within an event
		return
	}
	a.Refuse(refusals[refusedStopping].status, a.stopped(), serverRetryAfter)
}

func (st *StreamResponse) stop() { st.EventStream.Close() }

// writeStream writes the answer and the messages before it as an event stream.
func (q *mountRequest) writeStream(x *Response) {
	q.startStream(x.openStream())
	if q.stream(answerSource{x}) {
		x.end(false)
	}
}

// stream writes an event stream until it ends. It returns false if the client leaves before the end. If the stream
// ends before its last message, the connection is aborted.
func (q *mountRequest) stream(from source) (whole bool) {
	defer func() { _ = q.rc.SetWriteDeadline(time.Time{}) }()
	idle := time.NewTimer(q.keepAlive)
	defer idle.Stop()
	ended := q.ended
	var dst []byte
	for {
		var last, full bool
		dst, last, full = fill(from, dst)
		if len(dst) > 0 && q.push(dst) != nil {
			from.Leave()
			return false
		}
		if last {
			return true
		}
		if dst = dst[:0]; full {
			continue
		}
		if from.Over() || q.conn.killed.Load() {
			panic(http.ErrAbortHandler)
		}
		idle.Reset(q.keepAlive)
		select {
		case <-q.conn.wake:
		case <-idle.C:
			if !from.passing() && q.push([]byte(streamComment)) != nil {
				from.Leave()
				return false
			}
		case <-q.r.Context().Done():
			from.Leave()
			return false
		case <-ended:
			ended = nil
			from.stop()
		}
	}
}

// fill appends waiting messages until dst holds streamBatch bytes (full is then true), the stream ends (last is then
// true), or no more messages wait.
func fill(from source, dst []byte) (_ []byte, last, full bool) {
	for len(dst) < streamBatch {
		n := len(dst)
		if dst, last = from.Read(dst); last || len(dst) == n {
			return dst, last, false
		}
	}
	return dst, false, true
}

// get opens a stream for messages outside of requests.
func (q *mountRequest) get() {
	if !q.header.accept.named || !flushes(q.w) {
		q.refuse(refusedAccept)
		return
	}
	st := NewStreamResponse(q.origin, q.conn, q.options.Budget, q.maxMessage+stream.Slack)
	defer st.Leave()
	q.handler.Open(&st.EventStream)
	limit := time.NewTimer(q.limits.decide)
	defer limit.Stop()
	for {
		if h, ok := st.Head(); ok {
			q.opened(st, h)
			return
		}
		select {
		case <-q.conn.wake:
		case <-q.r.Context().Done():
			return
		case <-limit.C:
			q.refuse(refusedStopping)
			return
		case <-q.ended:
			q.refuse(refusedStopping)
			return
		}
	}
}

// opened writes the response to a request for a stream.
func (q *mountRequest) opened(st *StreamResponse, h Head) {
	if h.Stream {
		q.startStream("")
		q.stream(st)
		return
	}
	q.refusalHeader(&verdict{status: h.Status, retryAfter: h.RetryAfter})
	q.answer(h.Status, h.Body)
}

// preflight answers a CORS preflight, whose origin was accepted.
func (q *mountRequest) preflight() {
	h, k := q.w.Header(), &q.header
	h.Set("Allow", allVerbs)
	if k.origin != nil && k.corsMethod != nil {
		h.Set("Access-Control-Allow-Methods", allVerbs)
		h.Set("Access-Control-Max-Age", "600")
		if k.corsHeaders != nil {
			h.Set("Access-Control-Allow-Headers", string(k.corsHeaders))
		}
		if k.privateNetwork {
			h.Set("Access-Control-Allow-Private-Network", "true")
		}
	}
	q.w.WriteHeader(http.StatusNoContent)
}

// refuse answers a request with a refusal of the transport, not of the Handler.
func (q *mountRequest) refuse(why refused) {
	status := refusals[why].status
	if status == http.StatusServiceUnavailable {
		q.w.Header().Set("Retry-After", retryAfterSeconds(serverRetryAfter))
	}
	q.answer(status, refusalBodies[why])
}

// refuseAdmission answers a request that is not admitted.
func (q *mountRequest) refuseAdmission(r *Refusal) {
	if r.Challenge != "" {
		q.w.Header().Set("WWW-Authenticate", r.Challenge)
	}
	if r.Fault.RetryAfter > 0 {
		q.w.Header().Set("Retry-After", retryAfterSeconds(r.Fault.RetryAfter))
	}
	era := protocol.EraLegacy
	if string(q.header.version) >= modernVersions {
		era = protocol.EraModern
	}
	q.answer(r.Status, r.Fault.AppendTo(nil, orNull(nil, era), era))
}

// answer writes a JSON response.
func (q *mountRequest) answer(status int, body []byte) {
	if body != nil {
		q.w.Header().Set("Content-Type", typeJSON)
	}
	q.w.WriteHeader(status)
	_, _ = q.w.Write(body) // an error means that the client has left
}

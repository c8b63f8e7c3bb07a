package downstream

import (
	"net"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

// verdict is the final answer to an exchange. At most one of Message.Frame, pieces and batch is set.
type verdict struct {
	status           int
	protocol.Message                    // the answer, or the body of a refusal; the frame may be nil
	pieces           net.Buffers        // the answer in pieces
	memory           *protocol.Memory   // holds the pieces, if it can be reused; may be nil
	batch            []protocol.Message // the answers to a batch, written as one array or as several events
	refusal          bool
	events           bool // the frame consists of events
	retryAfter       time.Duration
	counted          int // bytes taken from the budget
}

// httpExchange is a Response that fasthttp writes. The connection's goroutine waits for its answer.
type httpExchange struct {
	Response
	server *Server
	conn   *serverConn
}

func (s *Server) newExchange(ctx *fasthttp.RequestCtx, c *serverConn, h *knownHeader, path []byte) *httpExchange {
	x := &httpExchange{server: s, conn: c}
	x.Origin = s.originOf(ctx, c, h, path)
	s.traceHeaders(&x.Exchange, h)
	x.init(c, s.options.Budget, s.maxMessage+stream.Slack)
	return x
}

// client returns the name under which the budget counts the client's answers: its session id, or its address. The session
// header of a modern client is ignored, because such clients have no sessions and could send any value.
func (x *Exchange) client() string {
	if x.Origin.SessionID != "" && !protocol.IsModern(x.Origin.Version) {
		return x.Origin.SessionID
	}
	return HostOf(x.Origin.Remote)
}

// noRoom returns the error that replaces an answer that does not fit in the budget. For a batch, the id is null.
func (x *Exchange) noRoom() []byte {
	if x.Batch != nil {
		return noRoomFor([]byte("null"))
	}
	return noRoomFor(x.Frame.IDBytes())
}

// look calls Response.look. If the connection is being killed, the client counts as having left.
func (x *httpExchange) look() (found nextStep, watch bool) {
	if x.conn.killed.Load() {
		return stepLeave, false
	}
	return x.Response.look()
}

// await blocks until there is something to write, and prepares the response. The response becomes an event stream if a
// message precedes the answer, or if it may become one early and SSEAfter passes first. If the Handler needs to know
// when the client leaves, the connection is watched from watchAfter on. Watching every call would cost a seventh of the
// throughput (measured).
func (s *Server) await(ctx *fasthttp.RequestCtx, c *serverConn, x *httpExchange) {
	mayStream := !x.Origin.JSONOnly && !x.noEarlyStream && (x.Frame.Raw != nil || x.Batch != nil)
	watched := false
	for {
		found, wanted := x.look()
		age := time.Since(x.Began)
		if (found == stepWait || found == stepPassed) && wanted && !watched && age >= s.watchAfter {
			watched = true
			if !c.watch(x.leave) && mayStream && found == stepWait {
				found = stepStream // this system cannot watch a connection: detect the loss by writing
			}
		}
		mayBegin := mayStream && found != stepPassed
		if found == stepWait && mayBegin && age >= s.sseAfter {
			found = stepStream
		}
		switch found {
		case stepAnswer:
			c.unwatch()
			x.writePlain(ctx)
			return
		case stepStream:
			x.writeStream(ctx)
			return
		case stepLeave:
			c.unwatch()
			c.Kill()
			return
		}
		select {
		case <-c.wake:
		case <-s.nextLook(c, age, mayBegin):
		}
	}
}

// nextLook sets the handler's timer to the next time at which await has to act, and returns its channel. It returns nil if
// there is no such time.
func (s *Server) nextLook(c *serverConn, age time.Duration, mayStream bool) <-chan time.Time {
	switch {
	case age < s.watchAfter && (!mayStream || s.watchAfter < s.sseAfter):
		return c.alarm(s.watchAfter - age)
	case mayStream:
		return c.alarm(s.sseAfter - age)
	}
	return nil
}

// leave ends the exchange because its client has closed the connection. The connection's watcher calls it.
func (x *httpExchange) leave() {
	if x.end(true) {
		x.conn.Wake()
	}
}

// writePlain passes the answer to fasthttp as a single body. It copies the answer only for a batch, or if the client
// accepts nothing but an event stream.
func (x *httpExchange) writePlain(ctx *fasthttp.RequestCtx) {
	v, session := x.take()
	if v.status == 0 { // the client has just left: send nothing more
		x.conn.Kill()
		return
	}
	h := &ctx.Response.Header
	if session != "" {
		h.Set("Mcp-Session-Id", session)
	}
	if v.refusal {
		v.head(ctx)
	}
	if body, ok := v.asEvents(&x.Origin); ok {
		h.SetContentType(typeEvents)
		h.Set("Cache-Control", "no-cache")
		ctx.SetStatusCode(v.status)
		ctx.Response.SetBodyRaw(body)
		return
	}
	if v.pieces != nil {
		ctx.SetStatusCode(v.status)
		ctx.SetContentType(typeJSON)
		pieces := v.pieces // keeps v off the heap
		ctx.Response.SetBodyStream(&pieces, v.size())
		return
	}
	x.server.answer(ctx, v.status, v.body())
}

// size returns the number of bytes in the verdict's messages.
func (v *verdict) size() int {
	n := len(v.Frame) + sizeOf(v.batch)
	for _, piece := range v.pieces {
		n += len(piece)
	}
	return n
}

// body returns the verdict as one body, or nil if it has none.
func (v *verdict) body() []byte {
	switch {
	case v.pieces != nil:
		return slices.Concat(v.pieces...)
	case v.batch != nil:
		return joinParts(v.batch).Frame
	}
	return v.Frame
}

// asEvents returns the verdict as events, if its client accepts nothing else. A refusal is JSON for every client.
func (v *verdict) asEvents(o *Origin) (body []byte, ok bool) {
	switch {
	case v.events:
		return v.Frame, true
	case o.EventsOnly && !v.refusal && v.size() > 0:
		return appendParts(nil, v.parts()), true
	}
	return nil, false
}

// parts returns the verdict as messages of a stream.
func (v *verdict) parts() []protocol.Message {
	if v.pieces != nil {
		return []protocol.Message{{Frame: slices.Concat(v.pieces...), Newline: v.Newline}}
	}
	if v.batch == nil && v.Frame != nil {
		return []protocol.Message{v.Message}
	}
	return v.batch
}

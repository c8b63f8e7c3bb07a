package downstream

import (
	"bytes"
	"errors"
	"net/http"
	"time"

	"github.com/valyala/fasthttp"

	"goblin-actor/protocol"
)

// post takes one message: media types, body, frame, then the Handler, then its answer.
func (s *Server) post(ctx *fasthttp.RequestCtx, c *serverConn, h *knownHeader, path []byte) {
	why := refusedNothing
	switch {
	case !h.accept.admitsJSON() && !h.accept.admitsEvents():
		why = refusedAccept
	case !isJSON(h.contentType), h.contentEncoding != nil && !equalFold(h.contentEncoding, "identity"):
		why = refusedMedia
	}
	if why != refusedNothing {
		s.refuse(ctx, c, why)
		return
	}
	x := s.newExchange(ctx, c, h, path) // before the body: what stands in trailers behind it is no header that anybody has checked
	b, why := s.readBody(ctx, c, s.maxMessage)
	if why != refusedNothing {
		s.refuseBody(ctx, c, why)
		return
	}
	x.body, x.Began = b, time.Now() // a long body may have taken its time
	if answer, status := x.parse(b.bytes); answer != nil {
		b.release()
		s.counters.refused[refusedMessage].Add(1)
		s.answer(ctx, status, answer)
		return
	}
	if x.Batch != nil && !s.admitBatch(ctx, c, h, x.Batch) {
		b.release()
		return
	}
	x.noEarlyStream = x.Frame.M == protocol.MethodInitialize
	if bytes.HasSuffix(path, []byte(RouteMessages)) { // answered on another stream, whatever this one accepts
		x.noEarlyStream, x.Origin.JSONOnly = true, false
	}
	c.enter(x)
	s.handler.Post(&x.Exchange)
	s.await(ctx, c, x)
}

// refuseBody refuses in the middle of a body: nothing more can be read of this connection.
func (s *Server) refuseBody(ctx *fasthttp.RequestCtx, c *serverConn, why refused) {
	ctx.SetConnectionClose()
	c.linger.Store(why == refusedSize || why == refusedBudget)
	s.refuse(ctx, c, why)
}

// parse fills in the message. When it is none, parse returns what to answer at once instead: HTTP 400 for what is no
// JSON-RPC, with the id if it can be read and is a request's (on stdio nothing else would end the client's waiting).
func (x *Exchange) parse(raw []byte) (answer []byte, status int) {
	raw = protocol.Trim(raw)
	if protocol.IsBatch(raw) {
		x.Batch = raw
		return nil, 0
	}
	if err := x.Frame.Parse(raw); err != nil {
		var id []byte
		if x.Frame.Method.Present() && x.Frame.ID.Present() {
			id = x.Frame.IDBytes()
		}
		if errors.Is(err, protocol.ErrDepth) {
			id = protocol.BrokenRequestID(raw, raw)
		}
		era := x.Origin.era()
		return parseFault(err).AppendTo(nil, orNull(id, era), era), http.StatusBadRequest
	}
	return x.scanParams()
}

// orNull is the id of an error whose message had none that could be read: null, or nothing at all in an answer to a
// modern client (MCP 2026-07-28, basic, error responses).
func orNull(id []byte, era protocol.Era) []byte {
	if id == nil && era == protocol.EraLegacy {
		return rawNull
	}
	return id
}

// scanParams fills in Params; when they have the wrong shape it returns what to answer, and with which HTTP status: a
// request's errors have 200 as all of them, but for what the modern era wants otherwise.
func (x *Exchange) scanParams() (answer []byte, status int) {
	if !x.Frame.Params.Present() {
		return nil, 0
	}
	err := x.Params.Scan(&x.Frame)
	if err == nil {
		return nil, 0
	}
	parse, ok := errors.AsType[*protocol.ParseError](err)
	if x.Frame.Kind != protocol.KindRequest || !ok {
		era := x.Origin.era()
		return parseFault(err).AppendTo(nil, orNull(nil, era), era), http.StatusBadRequest
	}
	fault, era := protocol.ParamsFault(x.Origin.Repeated(), &x.Frame, &x.Params, parse)
	return fault.AppendTo(nil, x.Frame.IDBytes(), era), fault.Status(era)
}

func parseFault(err error) *protocol.Fault {
	fault := &protocol.Fault{Name: protocol.InvalidRequest, Message: err.Error()}
	if parse, ok := errors.AsType[*protocol.ParseError](err); ok {
		switch {
		case errors.Is(err, protocol.ErrSyntax):
			fault.Name = protocol.ParseFault
		case parse.Code == codeInvalidParams:
			fault.Name = protocol.InvalidParams
		}
	}
	return fault
}

// codeInvalidParams is JSON-RPC's number for params of the wrong shape.
const codeInvalidParams = -32602

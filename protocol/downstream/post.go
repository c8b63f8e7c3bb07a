package downstream

import (
	"bytes"
	"errors"
	"net/http"
	"time"

	"github.com/valyala/fasthttp"

	"goblin-actor/protocol"
)

// post handles a POST: it checks the media types, reads and parses the body, calls the Handler and writes its answer.
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
	x := s.newExchange(ctx, c, h, path) // before the body is read: trailers add headers that were not checked
	b, why := s.readBody(ctx, c, s.maxMessage)
	if why != refusedNothing {
		s.refuseBody(ctx, c, why)
		return
	}
	x.body, x.Began = b, time.Now() // reading a long body may have taken a while
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
	x.noEarlyStream = x.Frame.Method == protocol.MethodInitialize
	if bytes.HasSuffix(path, []byte(RouteMessages)) { // the answer goes to another stream, so Accept does not matter
		x.noEarlyStream, x.Origin.JSONOnly = true, false
	}
	c.enter(x)
	s.handler.Post(&x.Exchange)
	s.await(ctx, c, x)
}

// refuseBody refuses a request whose body was read in part. The connection cannot be reused.
func (s *Server) refuseBody(ctx *fasthttp.RequestCtx, c *serverConn, why refused) {
	ctx.SetConnectionClose()
	c.linger.Store(why == refusedSize || why == refusedBudget)
	s.refuse(ctx, c, why)
}

// parse parses the message. If it is not valid JSON-RPC, parse returns the error to answer at once, and its HTTP status.
// The error has the id of the request if the id is readable. Without it, a client on stdio would wait forever.
func (x *Exchange) parse(raw []byte) (answer []byte, status int) {
	raw = protocol.Trim(raw)
	if protocol.IsBatch(raw) {
		x.Batch = raw
		return nil, 0
	}
	if err := x.Frame.Parse(raw); err != nil {
		var id []byte
		if x.Frame.RawMethod.Present() && x.Frame.ID.Present() {
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

// orNull returns the id for an error response. If id is nil, because it could not be read, orNull returns null for a legacy
// client and nil for a modern one (MCP 2026-07-28, basic, error responses).
func orNull(id []byte, era protocol.Era) []byte {
	if id == nil && era == protocol.EraLegacy {
		return rawNull
	}
	return id
}

// scanParams scans the params. If they are invalid, it returns the error to answer and its HTTP status. Errors of requests
// have status 200, with exceptions in the modern era.
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

// codeInvalidParams is the JSON-RPC error code for invalid params.
const codeInvalidParams = -32602

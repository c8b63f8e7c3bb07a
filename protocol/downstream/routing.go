package downstream

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"

	"github.com/valyala/fasthttp"

	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
)

const (
	typeJSON   = "application/json"
	typeEvents = "text/event-stream"
	allVerbs   = "GET, POST, DELETE, OPTIONS"
)

// rawNull is the id in the response to a message whose id could not be read.
var rawNull = []byte("null")

// handle is fasthttp's handler. It checks the request and then serves its route. It runs in the connection's goroutine
// and blocks until the request is answered.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	c := ctx.Conn().(*serverConn)
	c.busy.Store(true)
	s.counters.requests.Add(1)
	if s.retiring.Load() {
		ctx.SetConnectionClose()
	}
	c.who, c.client = nil, netip.Addr{}
	defer s.recovered(ctx, c)
	var h knownHeader
	if why := h.scan(ctx.Request.Header.RawHeaders()); why != refusedNothing {
		s.refuse(ctx, c, why)
		return
	}
	target := ctx.Request.Header.RequestURI()
	if len(target) == 0 || target[0] != '/' || h.host == nil {
		s.refuse(ctx, c, refusedMalformed) // absolute, asterisk or authority form, or no Host header
		return
	}
	if why := s.checkSite(ctx, c, &h); why != refusedNothing {
		s.refuse(ctx, c, why)
		return
	}
	if s.forwardedInvalid(&ctx.Request.Header) {
		s.refuse(ctx, c, refusedForwarded)
		return
	}
	path, query, _ := bytes.Cut(target, []byte("?"))
	if s.options.Upgrade != nil && s.handOver(ctx, c, path) {
		return
	}
	if isOpen(path) {
		s.other(ctx, c, &h, string(path), s.recognize(ctx, c, &h, path, query))
		return
	}
	if !s.admit(ctx, c, &h, path, query) {
		return
	}
	switch {
	case bytes.HasSuffix(path, []byte(RouteMCP)):
		s.route(ctx, c, &h, path)
	case bytes.HasSuffix(path, []byte(RouteSSE)):
		s.routeEvents(ctx, c, &h, path)
	case bytes.HasSuffix(path, []byte(RouteMessages)):
		s.routeMessages(ctx, c, &h, path, query)
	default:
		s.other(ctx, c, &h, string(path), identity.Of(c.who))
	}
}

// checkSite checks the Host and Origin headers (MCP 2025-11-25, basic/transports, security warning). It sets the CORS
// headers for an allowed origin of another site.
func (s *Server) checkSite(ctx *fasthttp.RequestCtx, c *serverConn, h *knownHeader) refused {
	if rules := s.checks.allowed.Load(); string(h.host) != string(c.hostOK) || c.hostBy != rules {
		host := string(h.host)
		if !s.checks.host(host, c.raw.LocalAddr()) {
			return refusedHost
		}
		c.hostOK, c.hostBy = internedString(host), rules
	}
	if h.origin == nil {
		return refusedNothing
	}
	ok, foreign := s.checks.origin(string(h.origin), string(c.hostOK), c.raw.LocalAddr())
	if !ok {
		return refusedOrigin
	}
	if foreign {
		r := &ctx.Response.Header
		r.SetBytesV("Access-Control-Allow-Origin", h.origin)
		r.Set("Vary", "Origin")
		r.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate")
	}
	return refusedNothing
}

func (s *Server) route(ctx *fasthttp.RequestCtx, c *serverConn, h *knownHeader, path []byte) {
	switch string(ctx.Request.Header.Method()) {
	case http.MethodPost:
		s.post(ctx, c, h, path)
	case http.MethodGet:
		s.get(ctx, c, h, path)
	case http.MethodDelete:
		s.delete(ctx, c, h, path)
	case http.MethodOptions:
		s.options204(ctx, c, h, allVerbs)
	default:
		ctx.Response.Header.Set("Allow", allVerbs)
		s.refuse(ctx, c, refusedVerb)
	}
}

// delete handles the end of a session (MCP 2025-11-25, session management).
func (s *Server) delete(ctx *fasthttp.RequestCtx, c *serverConn, h *knownHeader, path []byte) {
	if !bodyIsRead(ctx) {
		s.refuse(ctx, c, refusedMalformed)
		return
	}
	x := s.newExchange(ctx, c, h, path)
	x.deletes = true
	c.enter(x)
	s.handler.Delete(&x.Exchange)
	s.await(ctx, c, x)
}

// options204 answers a CORS preflight. checkSite has accepted its origin, so all requested headers are allowed.
func (s *Server) options204(ctx *fasthttp.RequestCtx, c *serverConn, h *knownHeader, verbs string) {
	if !bodyIsRead(ctx) {
		s.refuse(ctx, c, refusedMalformed)
		return
	}
	r := &ctx.Response.Header
	ctx.SetStatusCode(http.StatusNoContent)
	r.Set("Allow", verbs)
	if h.origin == nil || h.corsMethod == nil {
		return
	}
	r.Set("Access-Control-Allow-Methods", verbs)
	r.Set("Access-Control-Max-Age", "600")
	if h.corsHeaders != nil {
		r.SetBytesV("Access-Control-Allow-Headers", h.corsHeaders)
	}
	if h.privateNetwork {
		r.Set("Access-Control-Allow-Private-Network", "true")
	}
}

// modernVersions sorts before all protocol versions that use the headers Mcp-Method, Mcp-Name and Mcp-Param-*, and after all
// older ones.
const modernVersions = "2026"

// era returns the era of the version in the headers.
func (o *Origin) era() protocol.Era {
	if o.Version >= modernVersions {
		return protocol.EraModern
	}
	return protocol.EraLegacy
}

// originOf returns the request's Origin, which does not refer to fasthttp's memory.
func (s *Server) originOf(ctx *fasthttp.RequestCtx, c *serverConn, h *knownHeader, path []byte) Origin {
	o := Origin{
		Path:         c.path.of(path),
		SessionID:    c.session.of(h.session),
		Version:      c.version.of(h.version),
		Project:      c.project.of(h.project),
		EmptyProject: h.project != nil && len(h.project) == 0,
		LastEvent:    string(h.lastEvent),
		Remote:       c.remoteOf(),
		Principal:    c.who,
		// HTTP/1.0 has no chunks, so a response cannot be an event stream.
		JSONOnly:   !h.accept.admitsEvents() || !ctx.Request.Header.IsHTTP11(),
		EventsOnly: !h.accept.admitsJSON(),
	}
	o.Forwarded = s.forwardedOf(&ctx.Request.Header)
	if o.era() == protocol.EraModern {
		o.Header = c.repeated(&ctx.Request.Header)
	}
	return o
}

// repeated copies the headers of the modern era that repeat members of the body: all that begin with Mcp-.
func (c *serverConn) repeated(h *fasthttp.RequestHeader) http.Header {
	header := make(http.Header, 2)
	values := make([]string, 0, 2) // for the two headers of nearly every request
	for key, value := range h.All() {
		n := len(values)
		switch string(key) {
		case protocol.HeaderMethod:
			values = append(values, c.method.of(value))
			header[protocol.HeaderMethod] = values[n : n+1 : n+1]
		case protocol.HeaderName:
			values = append(values, c.name.of(value))
			header[protocol.HeaderName] = values[n : n+1 : n+1]
		default:
			if len(key) > 4 && strings.EqualFold(string(key[:4]), "Mcp-") {
				header.Add(string(key), string(value))
			}
		}
	}
	return header
}

// refuse answers a request without calling the Handler. It closes the connection if the request is malformed or its
// body was not read completely, because the rest would be read as the next request.
func (s *Server) refuse(ctx *fasthttp.RequestCtx, c *serverConn, why refused) {
	s.counters.refused[why].Add(1)
	if why == refusedMalformed || !bodyIsRead(ctx) {
		ctx.SetConnectionClose()
		c.linger.Store(true)
	}
	if status := refusals[why].status; status == http.StatusServiceUnavailable {
		setRetryAfter(&ctx.Response.Header, serverRetryAfter)
	}
	s.answer(ctx, refusals[why].status, refusalBodies[why])
}

// answer sets a JSON response. body must not be modified afterwards.
func (*Server) answer(ctx *fasthttp.RequestCtx, status int, body []byte) {
	ctx.SetStatusCode(status)
	if body != nil {
		ctx.SetContentType(typeJSON)
		ctx.Response.SetBodyRaw(body)
	}
}

// refusalFaults are the errors of refusalBodies, for a message whose id is known. They are read-only.
var refusalFaults [refusedKinds]*protocol.Fault

// refusalBodies are the bodies of HTTP errors: JSON-RPC errors without the id of a request, as MCP 2025-11-25 permits.
var refusalBodies = func() (bodies [refusedKinds][]byte) {
	texts := [refusedKinds]string{
		refusedMalformed:  "malformed HTTP request",
		refusedRepeated:   "Header mismatch: an Mcp-* header is repeated",
		refusedForwarded:  "a header that is forwarded to servers is repeated or contains control characters",
		refusedHeaderSize: "there are too many headers, or they are too long",
		refusedTimeout:    "the request arrived too slowly",
		refusedHost:       "this Host is not allowed; add it to allowedHosts",
		refusedOrigin:     "this Origin is not allowed; add it to allowedOrigins",
		refusedPath:       "not found",
		refusedVerb:       "method not allowed",
		refusedAccept:     "Accept must allow application/json or text/event-stream (GET: text/event-stream)",
		refusedMedia:      "Content-Type must be application/json, without Content-Encoding",
		refusedMessage:    "the body is not a JSON-RPC message",
	}
	for why, text := range texts {
		fault, id, era := &protocol.Fault{Name: protocol.InvalidRequest, Message: text}, rawNull, protocol.EraLegacy
		switch refused(why) {
		case refusedRepeated: // only modern clients send such headers (MCP 2026-07-28, streamable-http, server validation)
			fault.Name, id, era = protocol.HeaderMismatch, nil, protocol.EraModern
		case refusedSize:
			fault = &protocol.Fault{Name: protocol.MessageTooLarge}
		case refusedBudget:
			fault = &protocol.Fault{Name: protocol.Overloaded, Message: "too many bytes are buffered", Retryable: true, RetryAfter: serverRetryAfter}
		case refusedStopping:
			fault = &protocol.Fault{Name: protocol.ShuttingDown, Retryable: true}
		case refusedInternal:
			fault = &protocol.Fault{Name: protocol.InternalFault}
		}
		refusalFaults[why] = fault
		bodies[why] = fault.AppendTo(nil, id, era)
	}
	return bodies
}()

// expect answers Expect: 100-continue. It refuses a request before its body is sent if the header is invalid, a
// required credential is missing, or the body is too large.
func (s *Server) expect(ctx *fasthttp.RequestCtx) int {
	if !s.mayContinue(ctx) {
		ctx.Conn().(*serverConn).linger.Store(true) // the client may send the body anyway
		return ctx.Response.StatusCode()
	}
	if ctx.Request.Header.ContentLength() > s.maxMessage {
		s.counters.refused[refusedSize].Add(1)
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusContinue
}

// unreadable is fasthttp's error handler, called for a request that could not be read. The connection is then closed.
func (s *Server) unreadable(ctx *fasthttp.RequestCtx, err error) {
	why := refusedMalformed
	var network net.Error
	var small *fasthttp.ErrSmallBuffer
	switch {
	case errors.As(err, &small):
		why = refusedHeaderSize
	case errors.As(err, &network) && network.Timeout():
		why = refusedTimeout
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		why = refusedSize
	}
	s.counters.refused[why].Add(1)
	ctx.Conn().(*serverConn).linger.Store(why != refusedTimeout) // a client that is still sending must not get a reset
	s.answer(ctx, refusals[why].status, refusalBodies[why])
}

// recovered releases a lease that no exchange or stream has taken. If the handler panicked, recovered answers 500, because
// one bad message must not end the process.
func (s *Server) recovered(ctx *fasthttp.RequestCtx, c *serverConn) {
	cause := recover()
	c.releaseLease()
	if cause == nil {
		return
	}
	s.log.Error("http handler panicked", "panic", fmt.Sprint(cause), "stack", string(debug.Stack()))
	c.unwatch()
	ctx.Response.Reset()
	ctx.SetConnectionClose()
	s.counters.refused[refusedInternal].Add(1)
	s.answer(ctx, http.StatusInternalServerError, refusalBodies[refusedInternal])
}

// allowOf returns the Allow header for a request that the Handler has refused with 405.
func allowOf(method string) string {
	switch method {
	case http.MethodGet:
		return "POST, DELETE, OPTIONS"
	case http.MethodDelete:
		return "GET, POST, OPTIONS"
	}
	return "GET, DELETE, OPTIONS"
}

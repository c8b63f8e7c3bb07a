package downstream

import (
	"bytes"
	"net/http"
	"net/netip"

	"github.com/valyala/fasthttp"

	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
)

// Admission authenticates requests. It decides for each request, never for a connection, because proxies send the
// requests of several users over one connection. Over HTTP, it sees only the header of a request, before the request is
// routed and its body is parsed. Its methods are safe for concurrent use.
type Admission interface {
	// ChecksAll reports whether Admit must be called for every request, apart from CORS preflights and open paths. If
	// false, it must be called only for requests that came through a proxy or tunnel.
	ChecksAll() bool
	// Anonymous returns the principal of clients without a credential, or nil if a credential is required.
	Anonymous() *identity.Principal
	// Admit decides whether to admit a request. It does not block.
	Admit(r *Request) Admitted
	// AdmitBatch decides whether the principal may send the rest of a batch whose request was admitted. more is the number
	// of messages after the first. It returns nil to admit them.
	AdmitBatch(principal *identity.Principal, more int) *Refusal
}

// Request is the header of a request. Its slices are valid until Admit returns.
type Request struct {
	Method, Path, Query []byte
	Authorization       []byte         // the first Authorization header; nil if absent
	Authorizations      int            // number of Authorization headers
	Peer                netip.AddrPort // the other end of the connection; the zero value on stdin, or if it is no TCP address
	TLS                 bool
	Proxied             bool // has a Forwarded, X-Forwarded-*, X-Real-IP or Via header
	Stream              bool // a GET or subscriptions/listen, which may open a stream that is idle for a long time

	block []byte
}

// Values calls each with every value of the header with the given name, which must be in lower case.
func (r *Request) Values(lower string, each func(value []byte)) {
	for block := r.block; len(block) > 0; {
		line, rest, _ := bytes.Cut(block, []byte("\r\n"))
		if block = rest; len(line) > len(lower) && line[len(lower)] == ':' && hasFold(line, lower) {
			each(trimSpace(line[len(lower)+1:]))
		}
	}
}

// Admitted is the decision of Admit.
type Admitted struct {
	Principal *identity.Principal // the principal of the request; nil means identity.Local
	Client    netip.Addr          // the client named by a trusted proxy; the zero value means the peer itself
	Lease     Lease               // released when the request is answered, or when the stream it opened ends; may be nil
	Refusal   *Refusal            // nil if the request is admitted
}

// Lease is one slot of a principal's limit on concurrent requests.
type Lease interface {
	// Release frees the slot. It is called once, from any goroutine.
	Release()
}

// Refusal is the response to a request that is not admitted. It is immutable.
type Refusal struct {
	Status    int
	Challenge string // WWW-Authenticate; "" if absent
	Fault     *protocol.Fault
}

// openPaths are the paths that need no authentication. A trailing slash includes all paths below.
var openPaths = []string{"/healthz", "/readyz", "/login/", "/.well-known/"}

// isOpen reports whether a path needs no authentication. Such a path is never an MCP route, whatever its suffix.
func isOpen(path []byte) bool {
	for _, open := range openPaths {
		if string(path) == open || open[len(open)-1] == '/' && len(path) > len(open) && string(path[:len(open)]) == open {
			return true
		}
	}
	return false
}

// admit authenticates a request and stores its principal in c, for originOf. It returns false if it has answered the
// request with a refusal.
func (s *Server) admit(ctx *fasthttp.RequestCtx, c *serverConn, h *knownHeader, path, query []byte) bool {
	a := s.options.Admission
	if a == nil || !h.proxied && !a.ChecksAll() {
		if h.authorizations > 1 {
			s.refuse(ctx, c, refusedMalformed)
			return false
		}
		c.setAdmitted()
		return true
	}
	if string(ctx.Request.Header.Method()) == http.MethodOptions { // CORS preflights carry no credentials
		return true
	}
	verdict := a.Admit(s.requestOf(ctx, c, h, path, query))
	if verdict.Refusal != nil {
		s.refuseAdmission(ctx, c, h, verdict.Refusal)
		return false
	}
	c.who, c.lease, c.client = verdict.Principal, verdict.Lease, verdict.Client
	c.setAdmitted()
	return true
}

// recognize returns the principal of a request for an open path, or nil if it is not authenticated.
func (s *Server) recognize(ctx *fasthttp.RequestCtx, c *serverConn, h *knownHeader, path, query []byte) *identity.Principal {
	a := s.options.Admission
	if a == nil {
		return identity.Local
	}
	if !h.proxied {
		if principal := a.Anonymous(); principal != nil { // health probes do not count against a rate limit
			return principal
		}
	}
	if !h.hasCredential() {
		return nil
	}
	verdict := a.Admit(s.requestOf(ctx, c, h, path, query))
	if verdict.Refusal != nil {
		return nil
	}
	c.lease = verdict.Lease
	return identity.Of(verdict.Principal)
}

// admitBatch returns false if it has refused a batch because its principal may not send that many messages. It accepts
// bodies that are not a valid batch; the Handler refuses them.
func (s *Server) admitBatch(ctx *fasthttp.RequestCtx, c *serverConn, h *knownHeader, batch []byte) bool {
	if c.who == nil {
		return true
	}
	members := membersOf(batch)
	if members < 2 {
		return true
	}
	refusal := s.options.Admission.AdmitBatch(c.who, members-1)
	if refusal == nil {
		return true
	}
	s.refuseAdmission(ctx, c, h, refusal)
	return false
}

// membersOf returns the number of messages in a batch, or 0 if it is not a valid batch.
func membersOf(batch []byte) (members int) {
	if batch == nil || protocol.ParseBatch(batch, func(*protocol.Frame) error { members++; return nil }) != nil {
		return 0
	}
	return members
}

// requestOf fills in the connection's Request. All requests of a connection share it to avoid allocations.
func (*Server) requestOf(ctx *fasthttp.RequestCtx, c *serverConn, h *knownHeader, path, query []byte) *Request {
	if c.request == nil {
		c.request = new(Request)
	}
	method := ctx.Request.Header.Method()
	*c.request = Request{
		Method: method, Path: path, Query: query,
		Authorization: h.authorization, Authorizations: h.authorizations,
		Peer: c.peer, TLS: c.secure, Proxied: h.proxied,
		Stream: string(method) == http.MethodGet ||
			string(h.version) >= modernVersions && string(h.method) == protocol.MethodSubscriptionsListen.String(),
		block: ctx.Request.Header.RawHeaders(),
	}
	return c.request
}

// headerReceived is fasthttp's HeaderReceived. fasthttp next reads the first 8 KiB of the body, before it calls the
// handler. To refuse a request with an invalid header or without a credential before that, headerReceived adds Expect:
// 100-continue, so that fasthttp calls expect first. A refusal there ends the connection. Requests from proxies are
// therefore exempt: a proxy's connection also carries the requests of other clients, and a proxy mostly sends the body
// with the header.
func (s *Server) headerReceived(h *fasthttp.RequestHeader) (standard fasthttp.RequestConfig) {
	a := s.options.Admission
	if !h.IsHTTP11() {
		h.Del("Expect") // no interim responses to HTTP/1.0: RFC 9110, section 15.2
	}
	if a == nil || a.Anonymous() != nil || h.ContentLength() <= 0 || string(h.Method()) == http.MethodOptions {
		return standard
	}
	var known knownHeader
	path, _, _ := bytes.Cut(h.RequestURI(), []byte("?"))
	if known.scan(h.RawHeaders()) != refusedNothing || !known.hasCredential() && !known.proxied && !isOpen(path) {
		h.Set("Expect", "100-continue")
	}
	return standard
}

// hasCredential reports whether the request has a credential. An empty Authorization header counts as none.
func (h *knownHeader) hasCredential() bool { return len(h.authorization) > 0 }

// mayContinue returns false if it has refused a request with an invalid header or without a required credential. It
// accepts every credential; handle checks it.
func (s *Server) mayContinue(ctx *fasthttp.RequestCtx) bool {
	a := s.options.Admission
	if a == nil || !a.ChecksAll() {
		return true
	}
	var h knownHeader
	c := ctx.Conn().(*serverConn)
	path, query, _ := bytes.Cut(ctx.Request.Header.RequestURI(), []byte("?"))
	why := h.scan(ctx.Request.Header.RawHeaders())
	switch {
	case why == refusedNothing && (h.hasCredential() || isOpen(path)):
		return true
	case why == refusedNothing && h.host == nil:
		why = refusedMalformed
	case why == refusedNothing:
		why = s.checkSite(ctx, c, &h)
	}
	if why != refusedNothing {
		s.refuse(ctx, c, why)
		return false
	}
	admitted := s.admit(ctx, c, &h, path, query)
	c.releaseLease() // handle admits the request again, and gets its own lease
	return admitted
}

// refuseAdmission answers a request that is not admitted. Like refuse, it does not read the rest of the body.
func (s *Server) refuseAdmission(ctx *fasthttp.RequestCtx, c *serverConn, h *knownHeader, r *Refusal) {
	s.counters.refused[refusedAdmission].Add(1)
	if !bodyIsRead(ctx) {
		ctx.SetConnectionClose()
		c.linger.Store(true)
	}
	if r.Challenge != "" {
		ctx.Response.Header.Set("WWW-Authenticate", r.Challenge)
	}
	if r.Fault.RetryAfter > 0 {
		setRetryAfter(&ctx.Response.Header, r.Fault.RetryAfter)
	}
	era := protocol.EraLegacy
	if string(h.version) >= modernVersions {
		era = protocol.EraModern
	}
	s.answer(ctx, r.Status, r.Fault.AppendTo(nil, orNull(nil, era), era))
}

// admit returns the error to answer to a message on stdin, or nil to admit it. There is no authentication on stdin, so
// only a rate limit can refuse a message. Notifications and responses outside a batch are not counted, because a
// refusal could not be reported.
func (s *stdioServer) admit(x *stdioExchange) []byte {
	a := s.o.Admission
	if a == nil || !a.ChecksAll() || x.Batch == nil && x.Frame.Kind != protocol.KindRequest {
		return nil
	}
	admitted := a.Admit(new(Request))
	r := admitted.Refusal
	if members := membersOf(x.Batch); r == nil && members > 1 {
		r = a.AdmitBatch(identity.Of(admitted.Principal), members-1)
	}
	switch {
	case r == nil:
		return nil
	case x.Batch != nil:
		return r.Fault.AppendTo(nil, rawNull, protocol.EraLegacy)
	}
	return r.Fault.AppendTo(nil, x.Frame.IDBytes(), protocol.EraOf(nil, &x.Frame, &x.Params))
}

// NewRequest returns a request with the given raw header block, whose lines end with CR LF. Tests of an Admission use it.
func NewRequest(block []byte) *Request { return &Request{block: block} }

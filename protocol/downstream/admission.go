package downstream

import (
	"bytes"
	"net/http"
	"net/netip"

	"github.com/valyala/fasthttp"

	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
)

// Admission says who asks: for each request, never for a connection, as proxies send those of several users over one. It sees
// the head of a request alone, before anything is routed and before a stranger's body is read. Safe from any goroutine.
type Admission interface {
	// Asks reports whether every request is asked about; otherwise only those are that a proxy or tunnel has had.
	Asks() bool
	// Anonymous returns the principal of clients without a credential, or nil if a credential is required.
	Anonymous() *identity.Principal
	// Admit decides about one request. It does not block.
	Admit(r *Request) Admitted
	// AdmitBatch decides about what an admitted request holds besides one message: so many more. nil = they are admitted, too.
	AdmitBatch(who *identity.Principal, more int) *Refusal
}

// Request is what is known of a request before its body. Its slices are valid until Admit returns.
type Request struct {
	Method, Path, Query []byte
	Authorization       []byte         // nil = there is none
	Authorizations      int            // how many such lines there are
	Peer                netip.AddrPort // who is connected; the zero value on stdin
	TLS                 bool
	Proxied             bool // it has Forwarded, X-Forwarded-*, X-Real-IP or Via
	Stream              bool // it opens a stream that may be idle for long

	block []byte
}

// Values calls each with the value of every line of a header, by its lower-case name.
func (r *Request) Values(lower string, each func(value []byte)) {
	for block := r.block; len(block) > 0; {
		line, rest, _ := bytes.Cut(block, []byte("\r\n"))
		if block = rest; len(line) > len(lower) && line[len(lower)] == ':' && hasFold(line, lower) {
			each(trimBlanks(line[len(lower)+1:]))
		}
	}
}

// Admitted is what Admit says: whose request it is, or why it is refused.
type Admitted struct {
	Who     *identity.Principal // nil = identity.Local
	Client  netip.Addr          // for whom a trusted proxy asks; the zero value = the peer itself
	Lease   Lease               // given back when the request's answer is there, or the stream it opened is over; nil = none
	Refusal *Refusal            // nil = admitted
}

// Lease is a request's share of what its principal may have under way.
type Lease interface {
	// Release gives it back; it is called once, from any goroutine.
	Release()
}

// Refusal is the answer to a request that is not admitted. Immutable.
type Refusal struct {
	Status    int
	Challenge string // WWW-Authenticate; "" = none
	Fault     *protocol.Fault
}

// openPaths are for everybody, whoever they are; what ends with a slash stands for all below it.
var openPaths = []string{"/healthz", "/readyz", "/login/", "/.well-known/"}

// isOpen reports whether a path is for everybody. None of them is one of MCP's, whatever it ends with.
func isOpen(path []byte) bool {
	for _, open := range openPaths {
		if string(path) == open || open[len(open)-1] == '/' && len(path) > len(open) && string(path[:len(open)]) == open {
			return true
		}
	}
	return false
}

// admit finds out whose request it is, for originOf; false when it has been refused and answered.
func (s *Server) admit(ctx *fasthttp.RequestCtx, c *serverConn, h *knownHeader, path, query []byte) bool {
	a := s.options.Admission
	if a == nil || !h.proxied && !a.Asks() {
		if h.authorizations > 1 {
			s.refuse(ctx, c, refusedMalformed)
			return false
		}
		c.greet()
		return true
	}
	if string(ctx.Request.Header.Method()) == http.MethodOptions { // a preflight has no credentials
		return true
	}
	verdict := a.Admit(s.requestOf(ctx, c, h, path, query))
	if verdict.Refusal != nil {
		s.refuseWho(ctx, c, h, verdict.Refusal)
		return false
	}
	c.who, c.lease, c.client = verdict.Who, verdict.Lease, verdict.Client
	c.greet()
	return true
}

// recognize finds out who asks on a path that is for everybody; nil = nobody who is known.
func (s *Server) recognize(ctx *fasthttp.RequestCtx, c *serverConn, h *knownHeader, path, query []byte) *identity.Principal {
	a := s.options.Admission
	if a == nil {
		return identity.Local
	}
	if !h.proxied {
		if who := a.Anonymous(); who != nil { // counted against no rate: it is probes that ask here
			return who
		}
	}
	if !h.showsCredential() {
		return nil
	}
	verdict := a.Admit(s.requestOf(ctx, c, h, path, query))
	if verdict.Refusal != nil {
		return nil
	}
	c.lease = verdict.Lease
	return identity.Of(verdict.Who)
}

// admitBatch is false, and the request answered, when it holds more messages than whoever asks may send. What is no batch is for others to say.
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
	s.refuseWho(ctx, c, h, refusal)
	return false
}

// membersOf counts the messages of a batch; 0 = it is none.
func membersOf(batch []byte) (members int) {
	if batch == nil || protocol.ParseBatch(batch, func(*protocol.Frame) error { members++; return nil }) != nil {
		return 0
	}
	return members
}

// requestOf fills in the connection's Request: one for all of its requests costs no allocation.
func (*Server) requestOf(ctx *fasthttp.RequestCtx, c *serverConn, h *knownHeader, path, query []byte) *Request {
	if c.asked == nil {
		c.asked = new(Request)
	}
	method := ctx.Request.Header.Method()
	*c.asked = Request{
		Method: method, Path: path, Query: query,
		Authorization: h.authorization, Authorizations: h.authorizations,
		Peer: c.peer, TLS: c.secure, Proxied: h.proxied,
		Stream: string(method) == http.MethodGet ||
			string(h.version) >= modernVersions && string(h.method) == protocol.MethodSubscriptionsListen.String(),
		block: ctx.Request.Header.RawHeaders(),
	}
	return c.asked
}

// headRead hears of each head from fasthttp, which next reads the first 8 KiB of the body: as much as it can hold without a handler. For who
// shows no credential where one is wanted it is to ask before that, as if he had: expect refuses him. That ends the connection, so it is not
// done to proxies: others need theirs, and what comes through one mostly comes whole.
func (s *Server) headRead(h *fasthttp.RequestHeader) (standard fasthttp.RequestConfig) {
	a := s.options.Admission
	if !h.IsHTTP11() {
		h.Del("Expect") // an interim response is not for HTTP/1.0: RFC 9110, section 15.2
	}
	if a == nil || a.Anonymous() != nil || h.ContentLength() <= 0 || string(h.Method()) == http.MethodOptions {
		return standard
	}
	var known knownHeader
	path, _, _ := bytes.Cut(h.RequestURI(), []byte("?"))
	if known.scan(h.RawHeaders()) != refusedNothing || !known.showsCredential() && !known.proxied && !isOpen(path) {
		h.Set("Expect", "100-continue")
	}
	return standard
}

// showsCredential reports whether the request brings something to be judged. An Authorization that is empty or blank is none.
func (h *knownHeader) showsCredential() bool { return len(h.authorization) > 0 }

// mayContinue is false, and the request answered, for who shows no credential where one is wanted. What he shows is for handle to judge.
func (s *Server) mayContinue(ctx *fasthttp.RequestCtx) bool {
	a := s.options.Admission
	if a == nil || !a.Asks() {
		return true
	}
	var h knownHeader
	c := ctx.Conn().(*serverConn)
	path, query, _ := bytes.Cut(ctx.Request.Header.RequestURI(), []byte("?"))
	why := h.scan(ctx.Request.Header.RawHeaders())
	switch {
	case why == refusedNothing && (h.showsCredential() || isOpen(path)):
		return true
	case why == refusedNothing && h.host == nil:
		why = refusedMalformed
	case why == refusedNothing:
		why = s.welcome(ctx, c, &h)
	}
	if why != refusedNothing {
		s.refuse(ctx, c, why)
		return false
	}
	admitted := s.admit(ctx, c, &h, path, query)
	c.giveLease() // handle asks again, and takes its own
	return admitted
}

// refuseWho answers who is not admitted. Like refuse it reads nothing of a body that is not here.
func (s *Server) refuseWho(ctx *fasthttp.RequestCtx, c *serverConn, h *knownHeader, r *Refusal) {
	s.counters.refused[refusedAdmission].Add(1)
	if !bodyIsHere(ctx) {
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

// admit returns what a request on stdin is refused with; nil = it is let in. Nobody is asked who he is there, so all that can be wrong is that
// there are too many. What wants no answer is not counted: nothing could tell its sender.
func (s *stdioServer) admit(x *stdioExchange) []byte {
	a := s.o.Admission
	if a == nil || !a.Asks() || x.Batch == nil && x.Frame.Kind != protocol.KindRequest {
		return nil
	}
	admitted := a.Admit(new(Request))
	r := admitted.Refusal
	if members := membersOf(x.Batch); r == nil && members > 1 {
		r = a.AdmitBatch(identity.Of(admitted.Who), members-1)
	}
	switch {
	case r == nil:
		return nil
	case x.Batch != nil:
		return r.Fault.AppendTo(nil, rawNull, protocol.EraLegacy)
	}
	return r.Fault.AppendTo(nil, x.Frame.IDBytes(), protocol.EraOf(nil, &x.Frame, &x.Params))
}

// NewRequest returns a request with that raw header block, each line with CR LF, for those who want to look into one.
func NewRequest(block []byte) *Request { return &Request{block: block} }

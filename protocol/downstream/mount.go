package downstream

import (
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

// Mount is an http.Handler that passes the messages of clients to a Handler, for a server of net/http that a program
// runs itself. It gives the same responses as a Server and makes the same checks, except for the Host header (see
// checkSite). The server of net/http limits connections and headers, and serves TLS. HTTP+SSE of 2024-11-05 is not
// supported.
type Mount struct {
	handler    Handler
	options    Options
	checks     *hostChecks
	forwarded  []string
	maxMessage int
	limits     limits

	sseAfter, keepAlive, writeTimeout time.Duration

	once  sync.Once
	ended chan struct{} // closed by Close
}

// NewMount returns a Mount. forwarded names the headers to forward to servers. Of the options, Other, TLS and
// TraceHeaders have no effect.
func NewMount(handler Handler, o Options, forwarded []string) *Mount {
	m := &Mount{
		handler: handler, options: o, checks: newHostChecks(o), limits: defaultLimits,
		maxMessage:   orDefault(o.MaxMessageBytes, defaultMaxMessage),
		sseAfter:     orDefault(o.SSEAfter, defaultSSEAfter),
		keepAlive:    orDefault(o.KeepAlive, defaultKeepAlive),
		writeTimeout: orDefault(o.WriteTimeout, defaultWriteTimeout),
		ended:        make(chan struct{}),
	}
	for _, name := range forwarded {
		m.forwarded = append(m.forwarded, textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name)))
	}
	return m
}

// Close refuses new requests and ends those that the Handler has not answered. It does not wait for them.
func (m *Mount) Close() { m.once.Do(func() { close(m.ended) }) }

// mountRequest is one request to a Mount. Its goroutine is that of ServeHTTP.
type mountRequest struct {
	*Mount
	w      http.ResponseWriter
	r      *http.Request
	rc     *http.ResponseController
	header knownHeader
	block  []byte // the header as text; header points into it
	path   string
	lease  Lease // may be nil
	origin Origin
	conn   *mountConn
}

// ServeHTTP handles one request and returns when it is answered. It serves the root and all paths that end with RouteMCP.
func (m *Mount) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := &mountRequest{Mount: m, w: w, r: r, rc: http.NewResponseController(w), conn: &mountConn{wake: make(chan struct{}, 1)}}
	defer q.releaseLease()
	if why := q.check(); why != refusedNothing {
		q.refuse(why)
		return
	}
	if !q.admit() {
		return
	}
	switch r.Method {
	case http.MethodPost:
		q.post()
	case http.MethodGet:
		q.get()
	case http.MethodDelete:
		x := NewResponse(q.origin, q.conn, m.options.Budget, 0)
		x.Delete()
		x.body.lease = q.takeLease()
		m.handler.Delete(&x.Exchange)
		q.await(x)
	case http.MethodOptions:
		q.preflight()
	default:
		w.Header().Set("Allow", allVerbs)
		q.refuse(refusedVerb)
	}
}

// check makes the checks that precede authentication.
func (q *mountRequest) check() refused {
	select {
	case <-q.ended:
		return refusedStopping
	default:
	}
	if q.r.Host == "" {
		return refusedMalformed
	}
	q.block = append(q.block, "Host: "+q.r.Host+"\r\n"...)
	for name, values := range q.r.Header {
		for _, value := range values {
			q.block = append(append(append(append(q.block, name...), ": "...), value...), "\r\n"...)
		}
	}
	if why := q.header.scan(q.block); why != refusedNothing {
		return why
	}
	if why := q.checkSite(); why != refusedNothing {
		return why
	}
	for _, name := range q.forwarded {
		if values := q.r.Header[name]; len(values) > 1 || len(values) == 1 && !stream.IsHeaderValue(values[0]) {
			return refusedForwarded
		}
	}
	var ok bool
	if q.path, ok = mountPath(q.r.URL.Path); !ok {
		return refusedPath
	}
	return refusedNothing
}

// mountPath returns the path of a request as the Handler knows it: without any prefix before /mcp, /p/<project>/mcp or
// /s/<server>/mcp.
func mountPath(path string) (string, bool) {
	if path == "" || path == "/" {
		return string(RouteMCP), true
	}
	prefix, ok := strings.CutSuffix(path, string(RouteMCP))
	if parts := strings.Split(prefix, "/"); len(parts) >= 3 && slices.Contains([]string{"p", "s"}, parts[len(parts)-2]) {
		return "/" + strings.Join(parts[len(parts)-2:], "/") + string(RouteMCP), ok
	}
	return string(RouteMCP), ok
}

// checkSite checks Host and Origin, and sets the CORS headers. Without AllowedHosts, the Host is checked only on
// loopback addresses, which a web page of another site could reach under its own host name (DNS rebinding).
func (q *mountRequest) checkSite() refused {
	local, _ := q.r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if len(q.checks.allowed.Load().hosts) > 0 || addrOf(local).IsLoopback() {
		if !q.checks.host(q.r.Host, local) {
			return refusedHost
		}
	}
	if q.header.origin == nil {
		return refusedNothing
	}
	ok, foreign := q.checks.origin(string(q.header.origin), q.r.Host, local)
	if !ok {
		return refusedOrigin
	}
	if foreign {
		h := q.w.Header()
		h.Set("Access-Control-Allow-Origin", string(q.header.origin))
		h.Add("Vary", "Origin")
		h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate")
	}
	return refusedNothing
}

// admit authenticates the request and fills in its Origin. It returns false if it has refused the request.
func (q *mountRequest) admit() bool {
	h := &q.header
	o := Origin{
		Path: q.path, SessionID: string(h.session), Version: string(h.version), Project: string(h.project), EmptyProject: h.project != nil && len(h.project) == 0,
		LastEvent: string(h.lastEvent), Remote: q.r.RemoteAddr, JSONOnly: !h.accept.admitsEvents() || !q.r.ProtoAtLeast(1, 1) || !flushes(q.w),
		EventsOnly: !h.accept.admitsJSON(),
	}
	for _, name := range q.forwarded {
		if values := q.r.Header[name]; len(values) == 1 && values[0] != "" {
			if o.Forwarded == nil {
				o.Forwarded = http.Header{}
			}
			o.Forwarded[name] = []string{values[0]}
		}
	}
	if o.era() == protocol.EraModern {
		o.Header = http.Header{}
		for name, values := range q.r.Header {
			if strings.HasPrefix(name, "Mcp-") {
				o.Header[name] = slices.Clone(values)
			}
		}
	}
	a := q.options.Admission
	switch {
	case a == nil && h.authorizations > 1:
		q.refuse(refusedMalformed)
		return false
	case a != nil && q.r.Method != http.MethodOptions:
		verdict := a.Admit(q.request())
		if verdict.Refusal != nil {
			q.refuseAdmission(verdict.Refusal)
			return false
		}
		q.lease, o.Principal = verdict.Lease, verdict.Principal
		if verdict.Client.IsValid() {
			o.Remote = netip.AddrPortFrom(verdict.Client, 0).String()
		}
	}
	q.origin = o
	return true
}

// request returns the header for the Admission.
func (q *mountRequest) request() *Request {
	h := &q.header
	peer, _ := netip.ParseAddrPort(q.r.RemoteAddr) // the zero value if a middleware has changed it
	return &Request{
		Method: []byte(q.r.Method), Path: []byte(q.path), Query: []byte(q.r.URL.RawQuery),
		Authorization: h.authorization, Authorizations: h.authorizations,
		Peer: netip.AddrPortFrom(peer.Addr().Unmap().WithZone(""), peer.Port()), TLS: q.r.TLS != nil, Proxied: h.proxied,
		Stream: q.r.Method == http.MethodGet || string(h.version) >= modernVersions && string(h.method) == protocol.MethodSubscriptionsListen.String(),
		block:  q.block,
	}
}

// post handles a message.
func (q *mountRequest) post() {
	h := &q.header
	switch {
	case !h.accept.admitsJSON() && !h.accept.admitsEvents():
		q.refuse(refusedAccept)
		return
	case !isJSON(h.contentType), h.contentEncoding != nil && !equalFold(h.contentEncoding, "identity"):
		q.refuse(refusedMedia)
		return
	}
	x := NewResponse(q.origin, q.conn, q.options.Budget, q.maxMessage+stream.Slack)
	if why := q.readBody(&x.body); why != refusedNothing {
		q.refuse(why)
		return
	}
	x.Began = time.Now()
	if answer, status := x.parse(x.body.bytes); answer != nil {
		x.body.release()
		q.answer(status, answer)
		return
	}
	if refusal := q.refusedBatch(x.Batch); refusal != nil {
		x.body.release()
		q.refuseAdmission(refusal)
		return
	}
	x.noEarlyStream = x.Frame.Method == protocol.MethodInitialize
	x.body.lease = q.takeLease()
	q.handler.Post(&x.Exchange)
	q.await(x)
}

// refusedBatch returns the refusal of a batch that has more messages than its principal may send, or nil.
func (q *mountRequest) refusedBatch(batch []byte) *Refusal {
	members := membersOf(batch)
	if members < 2 || q.origin.Principal == nil || q.options.Admission == nil {
		return nil
	}
	return q.options.Admission.AdmitBatch(q.origin.Principal, members-1)
}

// readBody reads the body. The read deadline of the connection is extended as bytes arrive.
func (q *mountRequest) readBody(b *body) refused {
	defer func() { _ = q.rc.SetReadDeadline(time.Time{}) }()
	return b.read(&mountBody{Reader: q.r.Body, request: q, began: time.Now()}, int(q.r.ContentLength), q.maxMessage)
}

// mountBody is the body of a request to a Mount.
type mountBody struct {
	io.Reader
	request *mountRequest
	began   time.Time
}

// extend implements bodySource.
func (b *mountBody) extend(received int) {
	_ = b.request.rc.SetReadDeadline(b.request.limits.bodyDeadline(b.began, received))
}

// whole implements bodySource. net/http reports a truncated body as io.ErrUnexpectedEOF.
func (*mountBody) whole(int) bool { return true }

func (q *mountRequest) takeLease() Lease {
	lease := q.lease
	q.lease = nil
	return lease
}

func (q *mountRequest) releaseLease() {
	if lease := q.takeLease(); lease != nil {
		lease.Release()
	}
}

package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	httpLinkNetRepeats = 2 // how often a request that the server has not looked at is sent again
	httpLinkNetConns   = 8 // connections net/http may try for a request without a body
)

// httpLinkNet is net/http: TLS, HTTP/2 and proxies.
type httpLinkNet struct{ transport *http.Transport }

func newHTTPLinkNet(o HTTPOptions) *httpLinkNet {
	return &httpLinkNet{&http.Transport{
		Proxy:                  httpLinkProxy,
		DialContext:            (&net.Dialer{Timeout: o.ConnectTimeout}).DialContext,
		TLSHandshakeTimeout:    o.ConnectTimeout,
		TLSClientConfig:        httpLinkTLS.Clone(),
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    httpLinkIdleConns,
		IdleConnTimeout:        httpLinkIdleFor,
		MaxResponseHeaderBytes: httpLinkHeadBytes,
		WriteBufferSize:        httpLinkOneWrite,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second}, // a dead peer is noticed
	}}
}

// httpLinkTLS is a variable for tests, whose certificates nobody else trusts.
var httpLinkTLS = &tls.Config{MinVersion: tls.VersionTLS12}

func (t *httpLinkNet) sweep() bool { return false } // it sweeps by itself
func (t *httpLinkNet) close()      { t.transport.CloseIdleConnections() }

// httpLinkTried is one try of an exchange with net/http: what it has taken of the request, and how often it has asked for a
// connection. net/http repeats by itself what it takes for repeatable. It is never given a way to read a body again, and a
// request without a body, which it repeats without pause and end, is stopped.
type httpLinkTried struct {
	body   *httpLinkOnce
	cancel context.CancelFunc
	conns  atomic.Int32
	reused atomic.Bool // the connection had served before
}

func (n *httpLinkTried) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) {
			if n.body == nil && n.conns.Add(1) > httpLinkNetConns {
				n.cancel()
			}
		},
		GotConn: func(info httptrace.GotConnInfo) { n.reused.Store(info.Reused) },
	}
}

// again reports whether the server has certainly not looked at a request that failed, so that it may be sent once more.
func (n *httpLinkTried) again(err error) bool {
	if n.body == nil {
		return false
	}
	if !n.body.end() {
		return n.reused.Load() // it had gone stale, and nothing was written
	}
	return httpLinkUnseen(err)
}

// httpLinkUnseen reports whether an error of net/http says that an HTTP/2 server ended the stream before it looked at it: by
// RFC 9113, sections 6.8 and 8.7, that is safe to repeat. Nearly every server sends GOAWAY to connections that are old, and
// which requests cross it on the way is chance. net/http has no other way to say it than these words.
func httpLinkUnseen(err error) bool {
	why, is := strings.CutPrefix(err.Error(), "http2: Transport: cannot retry err [")
	return is && (strings.HasPrefix(why, "http2: Transport received Server's graceful shutdown GOAWAY]") ||
		strings.HasPrefix(why, "stream error: stream ID ") && strings.Contains(why, "; REFUSED_STREAM; received from peer]"))
}

// httpLinkOnce is a body that is read once. From its first byte on the server may have it.
type httpLinkOnce struct {
	rest  bytes.Reader
	begun chan struct{} // closed with the first byte read
	mu    sync.Mutex
	read  bool
	over  bool
}

func (b *httpLinkOnce) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return 0, context.Canceled
	}
	if !b.read {
		b.read = true
		close(b.begun)
	}
	return b.rest.Read(p)
}

// end lets nothing more be read, and reports whether anything was.
func (b *httpLinkOnce) end() (read bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	return b.read
}

func (t *httpLinkNet) send(c *httpLinkCall, r *httpLinkRequest, a *httpLinkAnswer) error {
	a.status, a.session, a.retryAfter, a.location, a.response = 0, "", "", "", nil
	for repeats := 0; ; repeats++ {
		again, err := t.once(c, r, a)
		if err == nil || !again || repeats == httpLinkNetRepeats || c.canceled() != nil {
			return err
		}
	}
}

// once makes one try; again: the server has not seen it.
func (t *httpLinkNet) once(c *httpLinkCall, r *httpLinkRequest, a *httpLinkAnswer) (again bool, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	if err := c.hold(httpLinkCancel(cancel)); err != nil {
		return false, err
	}
	tried := &httpLinkTried{cancel: cancel}
	var begun chan struct{} // never, without a body
	if r.verb == http.MethodPost {
		begun = make(chan struct{})
		tried.body = &httpLinkOnce{begun: begun}
		tried.body.rest.Reset(r.body)
	}
	request, err := r.forNet(httptrace.WithClientTrace(ctx, tried.trace()), tried.body)
	if err != nil {
		cancel()
		return false, err
	}
	over := make(chan error, 1)
	go func() {
		var err error
		a.response, err = t.transport.RoundTrip(request)
		over <- err
	}()
	select {
	case <-begun:
		c.wrote()
		err = <-over
	case err = <-over:
	}
	if err != nil {
		cancel()
		again = tried.again(err)
		if tried.body != nil && tried.body.end() {
			c.wrote() // nobody can say how much of it has left
		}
		return again, err
	}
	c.wrote()
	a.cancel = cancel
	a.takeResponse(r)
	return false, nil
}

// forNet makes the request in the form of net/http. It has no GetBody: with one, net/http repeats a POST that the server has.
func (r *httpLinkRequest) forNet(ctx context.Context, body *httpLinkOnce) (*http.Request, error) {
	site := r.head.site
	target := url.URL{Scheme: site.url.Scheme, Host: site.url.Host}
	request, err := http.NewRequestWithContext(ctx, r.verb, target.String()+site.path, nil)
	if err != nil {
		return nil, errors.New("url: cannot be parsed")
	}
	if body != nil {
		request.Body, request.ContentLength = io.NopCloser(body), int64(len(r.body))
	}
	request.Host, request.Header = site.host, r.header()
	return request, nil
}

// takeResponse copies what is of use from the response.
func (a *httpLinkAnswer) takeResponse(r *httpLinkRequest) {
	response := a.response
	a.status, a.length, a.body = response.StatusCode, response.ContentLength, response.Body
	a.sse = httpLinkIsSSE([]byte(response.Header.Get("Content-Type")))
	encoding := response.Header.Get("Content-Encoding")
	a.encoded = encoding != "" && encoding != "identity"
	if session := response.Header.Get("Mcp-Session-Id"); session != r.head.session && httpLinkIsSession([]byte(session)) {
		a.session = session
	}
	if a.status >= 300 {
		a.retryAfter, a.location = response.Header.Get("Retry-After"), response.Header.Get("Location")
	}
}

// done closes the body; net/http keeps the connection if it was read to its end.
func (t *httpLinkNet) done(a *httpLinkAnswer, _ bool) {
	if a.response == nil {
		return
	}
	a.response.Body.Close()
	a.cancel()
	a.response, a.cancel, a.body = nil, nil, nil
}

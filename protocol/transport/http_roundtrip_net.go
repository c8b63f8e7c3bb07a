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
	"sync"
	"time"
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

// httpLinkTraced is what one try of net/http tells us on the way.
type httpLinkTraced struct {
	touched chan struct{} // closed when headers may have left
	wrote   chan struct{} // closed when the request has left
	once    [2]sync.Once
}

func (n *httpLinkTraced) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		WroteHeaders: func() { n.once[0].Do(func() { close(n.touched) }) },
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				n.once[1].Do(func() { close(n.wrote) })
			}
		},
	}
}

func (t *httpLinkNet) send(c *httpLinkCall, r *httpLinkRequest, a *httpLinkAnswer) error {
	a.status, a.session, a.retryAfter, a.location, a.response = 0, "", "", "", nil
	ctx, cancel := context.WithCancel(context.Background())
	if err := c.hold(httpLinkCancel(cancel)); err != nil {
		return err
	}
	seen := &httpLinkTraced{touched: make(chan struct{}), wrote: make(chan struct{})}
	request, err := r.forNet(httptrace.WithClientTrace(ctx, seen.trace()))
	if err != nil {
		cancel()
		return err
	}
	over := make(chan error, 1)
	go func() {
		var err error
		a.response, err = t.transport.RoundTrip(request)
		over <- err
	}()
	select {
	case <-seen.wrote:
		c.wrote()
		err = <-over
	case err = <-over:
	}
	if err != nil {
		cancel()
		select {
		case <-seen.touched: // nobody can say how much of it has left
			c.wrote()
		default:
		}
		return err
	}
	c.wrote()
	a.cancel = cancel
	a.takeResponse(r)
	return nil
}

// forNet makes the request in the form of net/http, which may repeat it on another connection as long as nothing of it
// was written to the first.
func (r *httpLinkRequest) forNet(ctx context.Context) (*http.Request, error) {
	site := r.head.site
	var body io.Reader
	if r.verb == http.MethodPost {
		body = bytes.NewReader(r.body)
	}
	target := url.URL{Scheme: site.url.Scheme, Host: site.url.Host}
	request, err := http.NewRequestWithContext(ctx, r.verb, target.String()+site.path, body)
	if err != nil {
		return nil, errors.New("url: cannot be parsed")
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

package remote

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
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	netRepeats  = 2                // maximum repeats of a request that the server has not processed
	maxNetConns = 8                // maximum connection attempts of net/http for a request without a body
	netIdleFor  = 60 * time.Second // how long net/http keeps an idle connection
)

// netTransport uses net/http, for TLS, HTTP/2 and proxies.
type netTransport struct{ transport *http.Transport }

func newNetTransport(o Options) *netTransport {
	return &netTransport{&http.Transport{
		Proxy:                  proxyOf,
		DialContext:            (&net.Dialer{Timeout: o.ConnectTimeout}).DialContext,
		TLSHandshakeTimeout:    o.ConnectTimeout,
		TLSClientConfig:        tlsConfig.Clone(),
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    maxIdleConns,
		IdleConnTimeout:        netIdleFor,
		MaxResponseHeaderBytes: headBytes,
		WriteBufferSize:        oneWriteBytes,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second}, // detects a dead peer
	}}
}

// tlsConfig is a variable for tests, which add their own certificates.
var tlsConfig = &tls.Config{MinVersion: tls.VersionTLS12}

func (*netTransport) receive(*exchange, *httpRequest, *httpAnswer) error { return errSlow } // not called, since send does not return errSlow

func (*netTransport) sweep() bool { return false } // net/http closes idle connections itself
func (t *netTransport) close()    { t.transport.CloseIdleConnections() }

// attempt is one attempt of an exchange with net/http. It records whether the body was read, and counts connection
// attempts. net/http repeats requests on its own. It cannot repeat a request with a body, because it cannot read the
// body again. It would repeat a request without a body endlessly, so attempt stops it after maxNetConns connection
// attempts.
type attempt struct {
	body   *bodyOnce
	cancel context.CancelFunc
	conns  atomic.Int32
	reused atomic.Bool // the connection was used before
}

func (n *attempt) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) {
			if n.body == nil && n.conns.Add(1) > maxNetConns {
				n.cancel()
			}
		},
		GotConn: func(info httptrace.GotConnInfo) { n.reused.Store(info.Reused) },
	}
}

// again reports whether the server has certainly not processed a failed request, so that it may be repeated.
func (n *attempt) again(err error) bool {
	if n.body == nil {
		return false
	}
	if !n.body.end() {
		return n.reused.Load() // the connection was stale, and nothing was written
	}
	return unprocessed(err)
}

// unprocessed reports whether an error of net/http means that an HTTP/2 server ended the stream without processing the
// request. Such a request is safe to repeat: RFC 9113, sections 6.8 and 8.7. Nearly every server sends GOAWAY on old
// connections, possibly while a request is on its way. net/http reports this only in the text of the error.
func unprocessed(err error) bool {
	why, is := strings.CutPrefix(err.Error(), "http2: Transport: cannot retry err [")
	return is && (strings.HasPrefix(why, "http2: Transport received Server's graceful shutdown GOAWAY]") ||
		strings.HasPrefix(why, "stream error: stream ID ") && strings.Contains(why, "; REFUSED_STREAM; received from peer]"))
}

// bodyOnce is a body that can be read once. After its first byte is read, the server may have received it.
type bodyOnce struct {
	rest  bytes.Reader
	begun chan struct{} // closed with the first byte read
	mu    sync.Mutex
	read  bool
	over  bool
}

func (b *bodyOnce) Read(p []byte) (int, error) {
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

// end makes further reads fail, and reports whether anything was read.
func (b *bodyOnce) end() (read bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	return b.read
}

func (t *netTransport) send(c *exchange, r *httpRequest, a *httpAnswer) error {
	a.status, a.session, a.retryAfter, a.location, a.response = 0, "", "", "", nil
	for repeats := 0; ; repeats++ {
		again, err := t.once(c, r, a)
		if err == nil || !again || repeats == netRepeats || c.canceled() != nil {
			return err
		}
	}
}

// once makes one attempt. again means that the server has not processed the request.
func (t *netTransport) once(c *exchange, r *httpRequest, a *httpAnswer) (again bool, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	if err := c.setStop(cancelFunc(cancel)); err != nil {
		return false, err
	}
	tried := &attempt{cancel: cancel}
	var begun chan struct{} // nil without a body
	if r.verb == http.MethodPost {
		begun = make(chan struct{})
		tried.body = &bodyOnce{begun: begun}
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
			c.wrote() // a part of the body may have been sent
		}
		return again, err
	}
	c.wrote()
	a.cancel = cancel
	a.takeResponse(r)
	return false, nil
}

// forNet returns the request for net/http. It has no GetBody, since with it net/http would repeat a POST that the
// server may have received.
func (r *httpRequest) forNet(ctx context.Context, body *bodyOnce) (*http.Request, error) {
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

// takeResponse copies the relevant fields of the response.
func (a *httpAnswer) takeResponse(r *httpRequest) {
	response := a.response
	a.status, a.length, a.body = response.StatusCode, response.ContentLength, response.Body
	a.sse, a.unreadable = isSSE([]byte(response.Header.Get("Content-Type"))), nil
	r.head.site.jar.take(r.head.site.path, slices.Values(response.Header.Values("Set-Cookie")))
	if session := response.Header.Get("Mcp-Session-Id"); session != r.head.session && isSession([]byte(session)) {
		a.session = session
	}
	if a.status >= 300 {
		a.retryAfter, a.location = response.Header.Get("Retry-After"), response.Header.Get("Location")
	}
	if encodings := response.Header.Values("Content-Encoding"); len(encodings) > 0 {
		a.decode(r.head.site.limit, encodings...)
	}
}

// done closes the body. net/http reuses the connection if the body was read to its end.
func (*netTransport) done(a *httpAnswer, _ bool) {
	if a.response == nil {
		return
	}
	a.endDecode()
	a.response.Body.Close()
	a.cancel()
	a.response, a.cancel, a.body = nil, nil, nil
}

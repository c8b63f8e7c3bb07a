package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"goblin-actor/protocol/coding"
)

const (
	headBytes     = 16 << 10    // maximum size of a response header
	oneWriteBytes = 16 << 10    // a body up to this size is written together with the header
	asideBytes    = 256 << 10   // a larger body is written by a goroutine while the response is read, to avoid a deadlock with the server
	earlyFor      = time.Second // how long to wait for a response if the request could not be written completely
)

var errMalformedHead = errors.New("malformed HTTP response")

// roundTripper performs HTTP exchanges. Its methods may be called concurrently, each with its own exchange and answer.
type roundTripper interface {
	// send writes the request and reads the header of the response into a. It calls c.wrote once the first byte is
	// written, and sets what Cancel closes. After an error other than errSlow, done need not be called.
	send(c *exchange, r *httpRequest, a *httpAnswer) error
	// receive continues after send has returned errSlow. It takes the same arguments.
	receive(c *exchange, r *httpRequest, a *httpAnswer) error
	// done ends the exchange. clean means that the body was read to its end. The caller must not use a afterwards. A
	// second call does nothing.
	done(a *httpAnswer, clean bool)
	// sweep closes connections that have been idle for too long. It returns false if it need not be called again until
	// another exchange has ended.
	sweep() bool
	// close closes idle connections.
	close()
}

// newRoundTripper returns net/http for TLS and proxies, and plainTransport otherwise and for Options.Dial.
func newRoundTripper(site *site, o Options) roundTripper {
	if o.Dial != nil {
		return withAuth(&plainTransport{pool: connPool{addr: site.addr, timeout: o.ConnectTimeout, dial: o.Dial, trusted: dialedFor}}, o)
	}
	proxy, err := proxyOf(&http.Request{URL: site.url})
	if site.url.Scheme == "https" || proxy != nil || err != nil {
		return withAuth(newNetTransport(o), o)
	}
	return withAuth(&plainTransport{pool: connPool{addr: site.addr, timeout: o.ConnectTimeout, trusted: trustedFor}}, o)
}

// proxyOf returns the proxy of a request. It is a variable for tests, since the environment is read only once.
var proxyOf = http.ProxyFromEnvironment

// httpAnswer is an HTTP response. A goroutine reuses it for its exchanges.
type httpAnswer struct {
	status     int
	sse        bool      // the Content-Type is text/event-stream
	unreadable error     // why the body cannot be decoded; the body is empty then; nil = it can
	length     int64     // length of the body; -1 = unknown
	body       io.Reader // io.EOF at its end
	session    string    // Mcp-Session-Id; "" = none, or the same as in the request
	retryAfter string
	location   string
	decoder    *coding.Reader // decodes a body with a Content-Encoding, until done; nil = none
	refusal    bool           // for authTransport: the header of a refusal was read, but not processed

	response *http.Response // net/http; nil when done
	cancel   context.CancelFunc

	conn    *poolConn // plain; nil when done
	head    fasthttp.ResponseHeader
	reader  *bufio.Reader // from readers, until done
	framing answerBody
	out     []byte
	rest    chan error // result of writing the body in a goroutine; nil = none
	keep    bool       // the connection can be reused
}

// readers is shared because the number of goroutines follows the load, and a reader is the largest part of their memory.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, headBytes) }}

// plainTransport is HTTP/1.1 without TLS, with fasthttp's parser. A connection belongs to one exchange at a time, so
// closing it cancels the exchange at any point. fasthttp's HostClient is not used, because it connects without a
// context, so a call could not be canceled while it connects, and because it reuses idle connections without checking
// whether the server has closed them.
type plainTransport struct{ pool connPool }

func (t *plainTransport) sweep() bool { return t.pool.sweep() }
func (t *plainTransport) close()      { t.pool.close() }

func (t *plainTransport) send(c *exchange, r *httpRequest, a *httpAnswer) error {
	a.status, a.session, a.retryAfter, a.location, a.rest = 0, "", "", "", nil
	for {
		conn, used, err := t.pool.get(c, r.verb != http.MethodGet)
		if err != nil {
			return err
		}
		a.conn = conn
		if err := c.setStop(conn); err != nil {
			t.done(a, false)
			return err
		}
		n, err := a.write(r)
		if n > 0 {
			c.wrote()
		}
		if err != nil && n == 0 {
			_ = c.setStop(nil)
			t.done(a, false)
			if used && c.canceled() == nil {
				continue // the connection was stale, and nothing was written: try another
			}
			return fmt.Errorf("write request: %w", err)
		}
		if err != nil { // the server may have refused the request early
			_ = conn.SetReadDeadline(time.Now().Add(earlyFor))
		}
		if c.inline && err == nil {
			conn.limitRead()
		} else if err == nil {
			conn.unlimitRead()
		}
		if headErr := t.receive(c, r, a); headErr != nil {
			if err == nil || headErr == errSlow {
				return headErr
			}
			return fmt.Errorf("read response: %w", err)
		}
		a.keep = a.keep && err == nil
		return nil
	}
}

func (t *plainTransport) receive(c *exchange, r *httpRequest, a *httpAnswer) error {
	err := a.readHead(r)
	if err == nil {
		return nil
	}
	if c.inline && isTimeout(err) {
		return errSlow
	}
	_ = c.setStop(nil)
	t.done(a, false)
	return fmt.Errorf("read response: %w", err)
}

// done returns the connection to the pool or closes it.
func (t *plainTransport) done(a *httpAnswer, clean bool) {
	conn := a.conn
	if conn == nil {
		return
	}
	a.conn = nil
	keep := clean && a.keep && a.framing.ended() && a.reader.Buffered() == 0 // clean implies a reader
	if a.rest != nil {
		if len(a.rest) == 0 { // the request is still being written, although the response is complete
			keep = false
			conn.Close()
		}
		if err := <-a.rest; err != nil {
			keep = false
		}
		a.rest = nil
	}
	if cap(a.out) > 2*oneWriteBytes {
		a.out = nil
	}
	a.body = nil
	a.endDecode()
	if a.reader != nil {
		a.reader.Reset(nil)
		readers.Put(a.reader)
		a.reader, a.framing = nil, answerBody{}
	}
	if !keep || !t.pool.put(conn) {
		conn.Close()
	}
}

// write sends header and body. n is the number of bytes written so far; a goroutine may write the rest.
func (a *httpAnswer) write(r *httpRequest) (n int64, err error) {
	a.out = r.appendHead(a.out[:0])
	if len(r.body) <= oneWriteBytes {
		a.out = append(a.out, r.body...)
		m, err := a.conn.Write(a.out)
		return int64(m), err
	}
	if len(r.body) <= asideBytes {
		both := net.Buffers{a.out, r.body}
		return both.WriteTo(a.conn.Conn)
	}
	m, err := a.conn.Write(a.out)
	if err != nil {
		return int64(m), err
	}
	rest, conn, body := make(chan error, 1), a.conn, r.body
	a.rest = rest
	go func() {
		_, err := conn.Write(body)
		rest <- err
	}()
	return int64(m), nil
}

// appendHead renders the request up to the body.
func (r *httpRequest) appendHead(dst []byte) []byte {
	switch {
	case r.verb != http.MethodPost:
		dst = r.head.render(dst, r.verb, false)
	case r.bare:
		dst = append(dst, r.head.bare...)
	default:
		dst = append(dst, r.head.post...)
	}
	if r.head.modern() || r.lastEvent != "" || len(r.headers) > 0 {
		r.each(func(name, value string) { dst = appendField(dst, name, value) })
	}
	if r.authorization != "" {
		dst = appendField(dst, "Authorization", r.authorization)
	}
	if cookie := r.head.site.cookies(); cookie != "" {
		dst = appendField(dst, "Cookie", cookie)
	}
	if r.verb == http.MethodPost {
		dst = append(dst, "Content-Length: "...)
		dst = strconv.AppendInt(dst, int64(len(r.body)), 10)
		dst = append(dst, "\r\n"...)
	}
	return append(dst, "\r\n"...)
}

// readHead reads the response header. It skips 1xx responses other than 101.
func (a *httpAnswer) readHead(r *httpRequest) error {
	if a.reader == nil { // nil at first; a later call continues
		a.reader = readers.Get().(*bufio.Reader)
		a.reader.Reset(a.conn)
	}
	for range 8 {
		if _, err := a.reader.Peek(1); err != nil {
			return unexpectedEOF(err)
		}
		if err := a.head.Read(a.reader); err != nil {
			var network net.Error
			if errors.As(err, &network) {
				return network
			}
			return errMalformedHead // fasthttp's error would contain parts of the response
		}
		if status := a.head.StatusCode(); status >= 200 || status == http.StatusSwitchingProtocols {
			a.takeHead(r)
			return nil
		}
	}
	return errMalformedHead
}

// isHere reports whether the body can be read without blocking.
func (a *httpAnswer) isHere() bool {
	return a.length >= 0 && a.reader != nil && a.length <= int64(a.reader.Buffered())
}

func isTimeout(err error) bool {
	network, ok := errors.AsType[net.Error](err)
	return ok && network.Timeout()
}

// takeHead copies the relevant fields of the parsed header.
func (a *httpAnswer) takeHead(r *httpRequest) {
	h := &a.head
	a.status = h.StatusCode()
	a.sse, a.unreadable = isSSE(h.ContentType()), nil
	r.head.site.jar.take(r.head.site.path, setCookies(h))
	a.keep = !h.ConnectionClose() && a.status != http.StatusSwitchingProtocols
	if session := h.Peek("Mcp-Session-Id"); len(session) > 0 && string(session) != r.head.session && isSession(session) {
		a.session = string(session)
	}
	if a.status >= 300 {
		a.retryAfter = string(h.Peek("Retry-After"))
		a.location = string(h.Peek("Location"))
	}
	a.length = int64(h.ContentLength())
	if a.status == http.StatusNoContent || a.status == http.StatusNotModified {
		a.length = 0
	}
	a.framing = answerBody{src: a.reader, left: a.length, chunked: a.length == -1, open: a.length < -1}
	a.length = max(a.length, -1)
	a.keep = a.keep && !a.framing.open
	a.body = &a.framing
	if encoding := h.ContentEncoding(); len(encoding) > 0 {
		a.decode(r.head.site.limit, string(encoding))
	}
}

// setCookies yields the Set-Cookie headers of a response.
func setCookies(h *fasthttp.ResponseHeader) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, value := range h.Cookies() {
			if !yield(string(value)) {
				return
			}
		}
	}
}

// isSSE reports whether a Content-Type is that of an event stream.
func isSSE(contentType []byte) bool {
	const sse = "text/event-stream"
	return len(contentType) >= len(sse) && equalFold(contentType[:len(sse)], sse)
}

// equalFold compares ASCII texts case-insensitively. lower must be lower case.
func equalFold(b []byte, lower string) bool {
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

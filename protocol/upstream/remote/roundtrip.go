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
	headBytes     = 16 << 10  // longest head of an answer
	oneWriteBytes = 16 << 10  // a body up to this is copied behind the head and shares its write
	asideBytes    = 256 << 10 // a body beyond this is written by a goroutine while the answer is read: neither side waits for the other
	earlyFor      = time.Second
)

var errMalformedHead = errors.New("malformed http answer")

// roundTripper makes HTTP exchanges. Its methods may be called from many goroutines, each with its own call and answer.
type roundTripper interface {
	// send writes the request and reads the head of the answer into a; it calls c.wrote when the first byte is on its
	// way, and holds what Cancel has to close. After an error there is nothing to be done with a.
	send(c *exchange, r *httpRequest, a *httpAnswer) error
	// hear goes on after send has returned errSlow, with the same arguments.
	hear(c *exchange, r *httpRequest, a *httpAnswer) error
	// done ends the exchange; clean: the body was read to its end. Whoever calls it holds a no longer. A second call does nothing.
	done(a *httpAnswer, clean bool)
	// sweep closes connections that are idle for long; false when none is left.
	sweep() bool
	// close closes idle connections.
	close()
}

// newRoundTripper picks the client: net/http where TLS or a proxy is between.
func newRoundTripper(site *site, o Options) roundTripper {
	proxy, err := proxyOf(&http.Request{URL: site.url})
	if site.url.Scheme == "https" || proxy != nil || err != nil {
		return withLogin(newNetTrip(o), o)
	}
	return withLogin(&plainTrip{pool: connPool{addr: site.addr, timeout: o.ConnectTimeout}}, o)
}

// proxyOf says which proxy a request goes through; a variable for tests, the environment is read only once.
var proxyOf = http.ProxyFromEnvironment

// httpAnswer is the head of an answer and the way to its body. It is used again and again by the same goroutine.
type httpAnswer struct {
	status     int
	sse        bool      // Content-Type says event stream
	unreadable error     // why the body cannot be decoded, and is empty; nil = it can
	length     int64     // of the body; -1 = unknown
	body       io.Reader // io.EOF at its end
	session    string    // Mcp-Session-Id; "" = none, or as the request had it
	retryAfter string
	location   string
	decoder    *coding.Reader // of a body with a Content-Encoding, until done; nil = none
	refusal    bool           // loginTrip: the head of a refusal is here that nobody has looked at

	response *http.Response // net/http; nil when done
	cancel   context.CancelFunc

	conn    *poolConn // plain; nil when done
	head    fasthttp.ResponseHeader
	reader  *bufio.Reader // from readers, until done
	framing answerBody
	out     []byte
	rest    chan error // the end of a body written aside; nil = none
	keep    bool       // the connection may be used again
}

// readers are shared: goroutines come and go with the load, and a reader is larger than everything else they need.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, headBytes) }}

// plainTrip is HTTP/1.1 without TLS: fasthttp's parser on connections that each belong to one exchange at a time,
// so that an exchange can be ended by closing its connection, in the middle of whatever it waits for. The connections
// are not those of fasthttp's HostClient: it connects without a context, so that a call could not be canceled meanwhile,
// and hands out idle connections without a look whether the server has closed them.
type plainTrip struct{ pool connPool }

func (t *plainTrip) sweep() bool { return t.pool.sweep(time.Now()) }
func (t *plainTrip) close()      { t.pool.close() }

func (t *plainTrip) send(c *exchange, r *httpRequest, a *httpAnswer) error {
	a.status, a.session, a.retryAfter, a.location, a.rest = 0, "", "", "", nil
	for {
		conn, used, err := t.pool.get(c, r.verb != http.MethodGet)
		if err != nil {
			return err
		}
		a.conn = conn
		if err := c.hold(conn); err != nil {
			t.done(a, false)
			return err
		}
		n, err := a.write(r)
		if n > 0 {
			c.wrote()
		}
		if err != nil && n == 0 {
			_ = c.hold(nil)
			t.done(a, false)
			if used && c.canceled() == nil {
				continue // it had gone stale, and nothing was written: a new one
			}
			return fmt.Errorf("write request: %w", err)
		}
		if err != nil { // the server may have refused it before it had all
			_ = conn.SetReadDeadline(time.Now().Add(earlyFor))
		}
		if c.lent && err == nil {
			conn.hurry()
		} else if err == nil {
			conn.calm()
		}
		if headErr := t.hear(c, r, a); headErr != nil {
			if err == nil || headErr == errSlow {
				return headErr
			}
			return fmt.Errorf("read answer: %w", err)
		}
		a.keep = a.keep && err == nil
		return nil
	}
}

func (t *plainTrip) hear(c *exchange, r *httpRequest, a *httpAnswer) error {
	err := a.readHead(r)
	if err == nil {
		return nil
	}
	if c.lent && isTimeout(err) {
		return errSlow
	}
	_ = c.hold(nil)
	t.done(a, false)
	return fmt.Errorf("read answer: %w", err)
}

// done puts the connection back or closes it.
func (t *plainTrip) done(a *httpAnswer, clean bool) {
	conn := a.conn
	if conn == nil {
		return
	}
	a.conn = nil
	keep := clean && a.keep && a.framing.ended() && a.reader.Buffered() == 0 // clean: there is a reader
	if a.rest != nil {
		if len(a.rest) == 0 { // still writing, although the answer is complete
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

// write sends head and body. n: how many bytes were taken before this returns.
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

// appendHead renders everything up to the body.
func (r *httpRequest) appendHead(dst []byte) []byte {
	switch {
	case r.verb != http.MethodPost:
		dst = r.head.render(dst, r.verb, false)
	case r.bare:
		dst = append(dst, r.head.bare...)
	default:
		dst = append(dst, r.head.post...)
	}
	if r.head.modern() || r.lastEvent != "" {
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

// readHead reads the head of the answer; interim ones (1xx) are passed over.
func (a *httpAnswer) readHead(r *httpRequest) error {
	if a.reader == nil { // else it goes on
		a.reader = readers.Get().(*bufio.Reader)
		a.reader.Reset(a.conn)
	}
	for range 8 {
		if _, err := a.reader.Peek(1); err != nil {
			return whenCut(err)
		}
		if err := a.head.Read(a.reader); err != nil {
			var network net.Error
			if errors.As(err, &network) {
				return network
			}
			return errMalformedHead // fasthttp's own words would show parts of the answer
		}
		if status := a.head.StatusCode(); status >= 200 || status == http.StatusSwitchingProtocols {
			a.takeHead(r)
			return nil
		}
	}
	return errMalformedHead
}

// isHere reports whether reading the body will not block.
func (a *httpAnswer) isHere() bool {
	return a.length >= 0 && a.reader != nil && a.length <= int64(a.reader.Buffered())
}

func isTimeout(err error) bool {
	network, ok := errors.AsType[net.Error](err)
	return ok && network.Timeout()
}

// takeHead copies what is of use from the parsed head.
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

// setCookies yields the Set-Cookie headers of an answer.
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

// equalFold compares ASCII without regard to case; lower is lower case.
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

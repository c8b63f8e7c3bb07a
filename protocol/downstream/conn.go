package downstream

import (
	"container/list"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"goblin-actor/internal/identity"
)

const (
	// serverChunk is the largest number of bytes passed to one write of the socket.
	serverChunk = 256 << 10
	// serverProgress is how many bytes of a chunk a client must read within WriteTimeout to keep its connection. So the
	// connection of a client that reads a large answer slowly stays open.
	serverProgress = 8 << 10
	// lingerTime is how long a client may continue sending after its request was refused, for example with 413. Then the
	// connection is closed.
	lingerTime = 5 * time.Second
	// lingerBytes is how many bytes the client may send in that time.
	lingerBytes = 128 << 20
)

// serverListener wraps accepted connections in a serverConn. It retries after temporary errors, mainly a lack of file
// descriptors, because fasthttp would stop the server. One goroutine uses it.
type serverListener struct {
	net.Listener
	server *Server
	logged time.Time // when an error was last logged
	closer
}

const (
	acceptPauseMin = 5 * time.Millisecond // after an error; doubles with each further error
	acceptPauseMax = 200 * time.Millisecond
	acceptLogEvery = 10 * time.Second // at most one log message in this time
)

func (l *serverListener) Accept() (net.Conn, error) {
	pause := acceptPauseMin
	for {
		raw, err := l.Listener.Accept()
		if passes, ok := errors.AsType[interface {
			error
			Temporary() bool
		}](err); ok && passes.Temporary() {
			l.logError(err)
			time.Sleep(pause)
			pause = min(2*pause, acceptPauseMax)
			continue
		}
		if err != nil {
			return nil, err
		}
		if l.isLast(raw) {
			_ = raw.Close()
			_ = l.Close()
			return nil, net.ErrClosed
		}
		c := &serverConn{raw: raw, server: l.server, remote: raw.RemoteAddr().String(), peer: addrPortOf(raw.RemoteAddr()), wake: make(chan struct{}, 1)}
		if config := l.server.options.TLS; config != nil { // the first Read does the handshake, in the connection's goroutine
			c.raw, c.secure = tls.Server(&pacedConn{Conn: raw, server: l.server}, config), true
		}
		if l.server.register(c) {
			return c, nil
		}
		raw.Close() // the server is stopping
	}
}

// logError logs an error of Accept, at most once in acceptLogEvery.
func (l *serverListener) logError(err error) {
	if now := time.Now(); now.Sub(l.logged) >= acceptLogEvery {
		l.logged = now
		l.server.log.Warn("cannot accept client connections; retrying. If err is \"too many open files\", raise the limit (ulimit -n)", "err", err)
	}
}

// serverConn is a client's connection, as fasthttp uses it. It counts bytes, sets a write deadline for each chunk of an
// answer, and knows whether a request is being handled. A stream can take it away from fasthttp.
//
// Fields belong to the connection's goroutine, except for place, wake, atomic fields, and those below mu.
type serverConn struct {
	raw    net.Conn
	server *Server
	remote string
	peer   netip.AddrPort
	secure bool // raw is a TLS connection

	request    *Request            // reused for each call of Admit; nil before the first
	who        *identity.Principal // principal of the current request; nil means identity.Local
	client     netip.Addr          // the client that a trusted proxy names; the zero value if there is no such proxy
	clientText internedAddr        // the text of client, for Origin.Remote
	lease      Lease               // lease of the current request, until an exchange or stream takes it; may be nil
	admitted   bool                // a request on this connection was admitted

	place *list.Element // element of Server.unadmitted; nil once a request was admitted. Server.mu guards it

	wake  chan struct{} // wakes the waiting handler. It outlives exchanges, so wakeups may be spurious
	timer *time.Timer   // the handler's timer, created on first use

	deadline time.Time // the current write deadline
	ended    bool      // Read has returned io.EOF
	reading  connBody  // the body that is being read; the zero value between bodies
	path     internedString
	session  internedString
	version  internedString
	project  internedString
	method   internedString // Mcp-Method
	name     internedString // Mcp-Name
	hostOK   internedString // the last Host header that was accepted
	hostBy   *allowed       // the rules that accepted it
	watcher  *watching      // notices if the client leaves while the exchange waits; nil at other times

	busy   atomic.Bool // a request is being handled; Shutdown closes connections that are not busy
	killed atomic.Bool // the connection is about to end; handlers stop waiting
	taken  atomic.Bool // a stream owns the connection: fasthttp reads EOF and its writes are discarded
	failed atomic.Bool // a write failed, so the client has not received an answer
	linger atomic.Bool // Close reads the rest of the request for a while

	mu       sync.Mutex
	exchange *httpExchange // the current exchange, or nil; Close detaches it
	closed   bool
}

func (c *serverConn) Read(p []byte) (int, error) {
	if c.taken.Load() {
		return 0, io.EOF
	}
	n, err := c.raw.Read(p)
	if err != nil && c.secure {
		answerPlainHTTP(err)
	}
	c.server.counters.bytesIn.Add(uint64(n))
	c.ended = err == io.EOF
	return n, err
}

func (c *serverConn) Write(p []byte) (int, error) {
	if c.taken.Load() {
		return len(p), nil // fasthttp's response, after the stream took over
	}
	n, err := c.server.write(c.raw, p, &c.deadline)
	if err != nil {
		c.failed.Store(true)
	}
	return n, err
}

// write sends p. It fails if the client reads less than serverProgress bytes within WriteTimeout. deadline is the
// connection's current write deadline. Setting a deadline is expensive, so write changes it only if at least 1/16 of
// WriteTimeout has passed since the last change.
func (s *Server) write(raw net.Conn, p []byte, deadline *time.Time) (sent int, err error) {
	if _, secure := raw.(*tls.Conn); secure {
		sent, err = raw.Write(p) // pacedConn sets the deadlines
		s.counters.bytesOut.Add(uint64(sent))
		return sent, err
	}
	sent, err = s.writePaced(raw, p, deadline)
	s.counters.bytesOut.Add(uint64(sent))
	return sent, err
}

// writePaced does what write does, for a socket without TLS.
func (s *Server) writePaced(raw net.Conn, p []byte, deadline *time.Time) (sent int, err error) {
	for {
		if now := time.Now(); deadline.Sub(now) < s.writeTimeout-s.writeTimeout/16 {
			*deadline = now.Add(s.writeTimeout)
			if err := raw.SetWriteDeadline(*deadline); err != nil {
				return sent, err
			}
		}
		n, err := raw.Write(p[:min(len(p), serverChunk)])
		sent += n
		if p = p[n:]; len(p) == 0 {
			return sent, err
		}
		if err != nil && (n < serverProgress || !errors.Is(err, os.ErrDeadlineExceeded)) {
			return sent, err
		}
	}
}

// Close is called by fasthttp when it has finished with the connection. It also ends the exchange. If the exchange has
// no answer, or its answer could not be written, the client counts as having left.
func (c *serverConn) Close() error {
	c.mu.Lock()
	again, x := c.closed, c.exchange
	c.closed, c.exchange = true, nil
	c.mu.Unlock()
	if again {
		return nil
	}
	if x != nil {
		x.end(c.failed.Load() || c.killed.Load())
	}
	taken := c.taken.Load()
	if !taken && c.linger.Load() && !c.killed.Load() {
		c.drain()
	}
	c.server.unregister(c) // not earlier: a lingering connection still counts, and Shutdown and HangUp must find it
	if taken {
		return nil
	}
	return c.raw.Close()
}

// Kill ends the connection at once. It is safe for concurrent use.
func (c *serverConn) Kill() {
	c.killed.Store(true)
	c.Wake()
	cut(c.raw)
}

// Wake wakes the handler that waits on this connection, if any.
func (c *serverConn) Wake() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Watch wakes the handler, which may have to watch the connection.
func (c *serverConn) Watch() { c.Wake() }

// Lost counts a response whose reader is too slow, and ends the connection.
func (c *serverConn) Lost() {
	c.server.counters.lostStreams.Add(1)
	c.Kill()
}

// DroppedLogs counts dropped log and progress messages.
func (c *serverConn) DroppedLogs(n int) { c.server.counters.droppedLogs.Add(uint64(n)) }

// Run calls f in a goroutine.
func (*serverConn) Run(f func()) { go f() }

// drain lets the client finish sending, so that it reads the response. The kernel would reset a connection that is
// closed with unread data.
func (c *serverConn) drain() {
	c.busy.Store(false) // from now on Shutdown closes it
	if c.server.stopping.Load() {
		return
	}
	if half, ok := c.raw.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	c.raw.SetReadDeadline(time.Now().Add(lingerTime))
	n, _ := io.Copy(io.Discard, io.LimitReader(socket(c.raw), lingerBytes))
	c.server.counters.bytesIn.Add(uint64(n))
}

// take removes the connection from fasthttp. The caller owns the result. fasthttp's Hijack would keep its 16 KiB reader
// for the connection; this way reader, writer and context return to their pools. Later writes of fasthttp are discarded.
func (c *serverConn) take() net.Conn {
	c.taken.Store(true)
	return c.raw
}

// enter starts an exchange, which now owns the request's lease and may outlive the connection. If the connection ends
// before exit is called, the client counts as having left.
func (c *serverConn) enter(x *httpExchange) {
	x.body.lease = c.takeLease()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exchange = x
}

// exit ends the current exchange, whose answer has been written.
func (c *serverConn) exit() {
	c.busy.Store(false)
	c.mu.Lock()
	x := c.exchange
	c.exchange = nil
	c.mu.Unlock()
	if x != nil {
		x.end(false)
	}
}

// alarm resets the handler's timer and returns its channel.
func (c *serverConn) alarm(d time.Duration) <-chan time.Time {
	if c.timer == nil {
		c.timer = time.NewTimer(d)
	} else {
		c.timer.Reset(d)
	}
	return c.timer.C
}

func (c *serverConn) LocalAddr() net.Addr            { return c.raw.LocalAddr() }
func (c *serverConn) RemoteAddr() net.Addr           { return c.raw.RemoteAddr() }
func (*serverConn) SetWriteDeadline(time.Time) error { return nil } // write sets its own
func (c *serverConn) SetDeadline(t time.Time) error  { return c.SetReadDeadline(t) }

func (c *serverConn) SetReadDeadline(t time.Time) error {
	if c.taken.Load() {
		return nil
	}
	return c.raw.SetReadDeadline(t)
}

// internedString is the last value of a header on a connection. Clients repeat their headers, so copying one from
// fasthttp's memory usually needs no allocation.
type internedString string

func (i *internedString) of(b []byte) string {
	if string(b) != string(*i) {
		*i = internedString(b)
	}
	return string(*i)
}

// takeLease returns the request's lease, which the caller then owns, or nil if there is none.
func (c *serverConn) takeLease() Lease {
	lease := c.lease
	c.lease = nil
	return lease
}

// releaseLease releases the request's lease, if any.
func (c *serverConn) releaseLease() {
	if lease := c.takeLease(); lease != nil {
		lease.Release()
	}
}

// remoteOf returns the Origin.Remote of the current request: the client that a trusted proxy names, or else the peer.
func (c *serverConn) remoteOf() string {
	if !c.client.IsValid() {
		return c.remote
	}
	return c.clientText.of(c.client)
}

// internedAddr is the text of the last client address on a connection.
type internedAddr struct {
	addr netip.Addr
	text string
}

func (i *internedAddr) of(addr netip.Addr) string {
	if addr != i.addr {
		i.addr, i.text = addr, netip.AddrPortFrom(addr, 0).String()
	}
	return i.text
}

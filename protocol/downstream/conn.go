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
	// serverChunk is how much is handed to the kernel at a time.
	serverChunk = 256 << 10
	// serverProgress is how much of a chunk a reader must take within WriteTimeout to be given another one: a slow but
	// living reader of a large answer keeps its connection, one that takes (next to) nothing loses it.
	serverProgress = 8 << 10
	// lingerTime is how long a client that was refused, 413 for one, may go on sending before the connection is closed under it.
	lingerTime = 5 * time.Second
	// lingerBytes is how much it may send in that time.
	lingerBytes = 128 << 20
)

// serverListener hands fasthttp connections of our own kind. What passes, above all that there are no descriptors left,
// does not end it: fasthttp would end the whole server. Used by one goroutine.
type serverListener struct {
	net.Listener
	server *Server
	told   time.Time // when the log last heard of trouble
}

const (
	acceptPauseMin = 5 * time.Millisecond // after trouble; doubles while it lasts
	acceptPauseMax = 200 * time.Millisecond
	acceptTell     = 10 * time.Second // how often the log hears of it
)

func (l *serverListener) Accept() (net.Conn, error) {
	pause := acceptPauseMin
	for {
		raw, err := l.Listener.Accept()
		if passes, ok := errors.AsType[interface {
			error
			Temporary() bool
		}](err); ok && passes.Temporary() {
			l.trouble(err)
			time.Sleep(pause)
			pause = min(2*pause, acceptPauseMax)
			continue
		}
		if err != nil {
			return nil, err
		}
		c := &serverConn{raw: raw, server: l.server, remote: raw.RemoteAddr().String(), peer: addrPortOf(raw.RemoteAddr()), wake: make(chan struct{}, 1)}
		if config := l.server.options.TLS; config != nil { // the handshake is the business of the connection's goroutine: its first Read
			c.raw, c.secure = tls.Server(&pacedConn{Conn: raw, server: l.server}, config), true
		}
		if l.server.register(c) {
			return c, nil
		}
		raw.Close() // stopping
	}
}

// trouble tells the log, not too often.
func (l *serverListener) trouble(err error) {
	if now := time.Now(); now.Sub(l.told) >= acceptTell {
		l.told = now
		l.server.log.Warn("new clients have to wait: no connection can be taken; if it is too many open files, raise the limit (ulimit -n)", "err", err)
	}
}

// serverConn is a client's connection as fasthttp sees it. It counts bytes, gives each chunk of an answer its own
// write deadline, knows whether a request is being handled, and can be taken away from fasthttp to become a stream.
//
// Fields without a word about locking belong to the connection's goroutine.
type serverConn struct {
	raw    net.Conn
	server *Server
	remote string
	peer   netip.AddrPort
	secure bool // raw is TLS

	asked      *Request            // what Admission was last shown; nil = it never was
	who        *identity.Principal // of the request; nil = identity.Local
	client     netip.Addr          // for whom a trusted proxy sends the request; the zero value = for itself
	clientText internedAddr        // client, as Origin.Remote has it
	lease      Lease               // of the request, until an exchange or a stream has it; nil = none
	known      bool                // a request of it was admitted

	place *list.Element // among the server's strangers; nil = it is none. The server's lock guards it

	wake  chan struct{} // tells the waiting handler to look again; outlives exchanges, so wakes may be spurious
	timer *time.Timer   // the handler's, made when first needed

	deadline time.Time // the write deadline in force
	ended    bool      // Read has met the end of the client's side
	path     internedString
	session  internedString
	version  internedString
	project  internedString
	method   internedString // Mcp-Method, Mcp-Name
	name     internedString
	hostOK   internedString // the last Host that passed the checks
	hostBy   *allowed       // under which rules it did
	watcher  *watching      // of the exchange, while it waits

	busy   atomic.Bool // from a request's header to its written answer; others are closed at once on Shutdown
	killed atomic.Bool // the connection is to end; handlers stop waiting
	taken  atomic.Bool // a stream has it: fasthttp reads EOF and writes into nothing
	failed atomic.Bool // a write failed: what was to be said has not arrived
	linger atomic.Bool // Close reads what the client still sends, for a while

	mu       sync.Mutex
	exchange *httpExchange // whose client leaves when the connection does
	closed   bool
}

func (c *serverConn) Read(p []byte) (int, error) {
	if c.taken.Load() {
		return 0, io.EOF
	}
	n, err := c.raw.Read(p)
	if err != nil && c.secure {
		correct(err)
	}
	c.server.counters.bytesIn.Add(uint64(n))
	c.ended = err == io.EOF
	return n, err
}

func (c *serverConn) Write(p []byte) (int, error) {
	if c.taken.Load() {
		return len(p), nil // what fasthttp says after the stream took over
	}
	n, err := c.server.write(c.raw, p, &c.deadline)
	if err != nil {
		c.failed.Store(true)
	}
	return n, err
}

// write sends p; whoever takes less than serverProgress of it in WriteTimeout loses the connection. deadline is the
// connection's last one: setting one costs as much as a small write's bookkeeping, so one that is nearly whole is kept.
func (s *Server) write(raw net.Conn, p []byte, deadline *time.Time) (sent int, err error) {
	if _, secure := raw.(*tls.Conn); secure {
		sent, err = raw.Write(p) // paced below
		s.counters.bytesOut.Add(uint64(sent))
		return sent, err
	}
	sent, err = s.writePaced(raw, p, deadline)
	s.counters.bytesOut.Add(uint64(sent))
	return sent, err
}

// writePaced is write for a socket.
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

// Close is called by fasthttp when it is done with the connection. An exchange that has no answer yet, or whose answer
// could not be written, learns that its client has left.
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
	c.server.unregister(c) // not before: who lingers counts, as a stranger if it is one, and Shutdown and HangUp know it
	if taken {
		return nil
	}
	return c.raw.Close()
}

// kill ends the connection whatever is happening on it. Safe from any goroutine.
func (c *serverConn) kill() {
	c.killed.Store(true)
	c.poke()
	cut(c.raw)
}

// poke wakes the handler that waits on this connection, if one does.
func (c *serverConn) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// drain lets the client finish sending, so that it reads our 413 instead of a reset (the kernel resets a connection
// that is closed with unread data).
func (c *serverConn) drain() {
	c.busy.Store(false) // Shutdown ends it from here on
	if c.server.stopping.Load() {
		return
	}
	if half, ok := c.raw.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	c.raw.SetReadDeadline(time.Now().Add(lingerTime))
	n, _ := io.Copy(io.Discard, io.LimitReader(beneath(c.raw), lingerBytes))
	c.server.counters.bytesIn.Add(uint64(n))
}

// Take removes the connection from fasthttp's hands. fasthttp's own Hijack would keep its 16 KiB reader with the
// connection; this way reader, writer and context go back to their pools and an idle stream costs what we allocate.
// What fasthttp still writes is dropped. The caller owns the result.
func (c *serverConn) Take() net.Conn {
	c.taken.Store(true)
	return c.raw
}

// enter begins an exchange: until it is exited the end of the connection is its client's leaving. The request's lease is the
// exchange's from now on, which may outlive the connection.
func (c *serverConn) enter(x *httpExchange) {
	x.body.lease = c.takeLease()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exchange = x
}

// exit says that the connection's answer has been written.
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

// alarm arms the handler's timer.
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
func (*serverConn) SetWriteDeadline(time.Time) error { return nil } // ours: see write
func (c *serverConn) SetDeadline(t time.Time) error  { return c.SetReadDeadline(t) }

func (c *serverConn) SetReadDeadline(t time.Time) error {
	if c.taken.Load() {
		return nil
	}
	return c.raw.SetReadDeadline(t)
}

// internedString keeps the last value seen on a connection as a string: clients repeat themselves, so copying a
// header out of fasthttp's memory usually allocates nothing.
type internedString string

func (i *internedString) of(b []byte) string {
	if string(b) != string(*i) {
		*i = internedString(b)
	}
	return string(*i)
}

// takeLease takes the request's lease away from the connection; nil when there is none.
func (c *serverConn) takeLease() Lease {
	lease := c.lease
	c.lease = nil
	return lease
}

// giveLease gives it back, if there is one.
func (c *serverConn) giveLease() {
	if lease := c.takeLease(); lease != nil {
		lease.Release()
	}
}

// remoteOf is who asks, as Origin.Remote has it: the peer, or for whom it asks if it is a trusted proxy.
func (c *serverConn) remoteOf() string {
	if !c.client.IsValid() {
		return c.remote
	}
	return c.clientText.of(c.client)
}

// internedAddr keeps the text of the last address seen on a connection.
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

package relay

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	connectTimeout = 5 * time.Second  // for the connection and the TLS handshake
	idleFor        = 30 * time.Second // an idle connection is kept for this long; the other node closes it after two minutes
	maxIdle        = 64               // idle connections to one node
)

// errHandshake replaces errors that would be understood as the end of a response.
var errHandshake = errors.New("it closed the connection during the TLS handshake")

// conn is a TLS connection to another node. One request at a time uses it.
type conn struct {
	*tls.Conn
	socket *socket
	used   bool // a request was answered on it
	since  time.Time
}

// socket is the connection below TLS. It knows whether the other node has closed it.
type socket struct {
	net.Conn
	ended atomic.Bool
}

func (s *socket) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if err != nil {
		s.ended.Store(true)
	}
	return n, err
}

// endedCleanly reports, after a read has returned io.EOF, whether the other node has announced the end. Without that it may
// have died.
func (c *conn) endedCleanly() bool { return !c.socket.ended.Load() }

// cut closes the connection at once.
func (c *conn) cut() { _ = c.socket.Close() }

// usable reports whether an idle connection can be used again: it was not idle for too long, and the other node has neither closed it
// nor sent anything.
func (c *conn) usable(now time.Time) bool {
	return now.Sub(c.since) < idleFor && c.isQuiet()
}

// isQuiet reports whether the connection is open and has nothing to read, as far as the system can tell.
func (c *conn) isQuiet() bool {
	raw, ok := c.raw()
	quiet := false
	return ok && raw.Control(func(fd uintptr) { quiet = isQuiet(fd) }) == nil && quiet
}

// raw returns the socket.
func (c *conn) raw() (syscall.RawConn, bool) {
	socket, ok := c.socket.Conn.(syscall.Conn)
	if !ok {
		return nil, false
	}
	raw, err := socket.SyscallConn()
	return raw, err == nil
}

// pool keeps the idle connections to one node. The connection used last is used first.
type pool struct {
	target Target
	config *derived // with the target's name

	mu     sync.Mutex
	idle   []*conn
	timer  *time.Timer // closes connections that have been idle for too long; nil = there are none
	closed bool
}

func newPool(target Target, of func() *tls.Config) *pool {
	return &pool{target: target, config: &derived{of: of, change: func(c *tls.Config) { c.ServerName = target.Node }}}
}

// get returns an idle connection, or a new one. It fails when ctx ends.
func (p *pool) get(ctx context.Context) (*conn, error) {
	for {
		c := p.pop()
		if c == nil {
			return p.dial(ctx)
		}
		if c.usable(time.Now()) {
			return c, nil
		}
		c.cut()
	}
}

func (p *pool) pop() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	c := p.idle[n-1]
	p.idle[n-1] = nil
	p.idle = p.idle[:n-1]
	return c
}

func (p *pool) dial(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	var dialer net.Dialer
	raw, err := dialer.DialContext(ctx, "tcp", p.target.Address)
	if err != nil {
		return nil, err
	}
	s := &socket{Conn: raw}
	c := &conn{Conn: tls.Client(s, p.config.get()), socket: s}
	if err := c.HandshakeContext(ctx); err != nil {
		raw.Close()
		if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
			err = errHandshake
		}
		return nil, err
	}
	return c, nil
}

// put keeps a connection whose last response was read completely.
func (p *pool) put(c *conn) {
	c.used, c.since = true, time.Now()
	if c.SetDeadline(time.Time{}) != nil {
		c.cut()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) >= maxIdle {
		c.cut()
		return
	}
	if p.idle = append(p.idle, c); p.timer == nil {
		p.timer = time.AfterFunc(idleFor, p.sweep)
	}
}

// sweep closes the connections that have been idle for too long. It runs in the timer's goroutine.
func (p *pool) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, kept := time.Now(), p.idle[:0]
	for _, c := range p.idle {
		if now.Sub(c.since) >= idleFor {
			c.cut()
		} else {
			kept = append(kept, c)
		}
	}
	clear(p.idle[len(kept):])
	if p.idle = kept; len(kept) == 0 || p.closed {
		p.timer = nil
		return
	}
	p.timer.Reset(kept[0].since.Add(idleFor).Sub(now)) // the oldest is the first
}

// close closes the idle connections. Later ones are closed when they become idle.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.idle {
		c.cut()
	}
	if p.idle = nil; p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
}

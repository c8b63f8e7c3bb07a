package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"
)

const (
	maxIdleConns = 1024             // maximum idle connections; with more exchanges at once than that, most would need a new connection
	hotFor       = time.Millisecond // a connection idle for less is not checked; a check costs a twentieth of an exchange
	trustedFor   = 3 * time.Second  // a connection idle for longer is not reused; the server may be about to close it
	dialedFor    = 30 * time.Second // the same for connections of Options.Dial
)

// connPool keeps the idle connections to one address. The most recently used is reused first.
type connPool struct {
	addr    string
	timeout time.Duration                               // timeout for connecting
	trusted time.Duration                               // a connection idle for longer is not reused
	dial    func(ctx context.Context) (net.Conn, error) // nil = connect to addr

	mu     sync.Mutex
	idle   []*poolConn
	closed bool
}

// poolConn is a connection that can be checked for whether the server has closed it.
type poolConn struct {
	net.Conn
	raw   syscall.RawConn       // nil = cannot be checked
	look  func(fd uintptr) bool // created once, so that a check does not allocate
	stale bool                  // result of look
	since time.Time             // idle since
	until time.Time             // the read deadline; zero = none
}

// get returns a usable idle connection, or a new one. used means that it was used before. Canceling c aborts connecting.
func (p *connPool) get(c *exchange, reuse bool) (conn *poolConn, used bool, err error) {
	for reuse {
		if conn = p.pop(); conn == nil {
			break
		}
		if conn.fresh(p.trusted) {
			return conn, true, nil
		}
		conn.Close()
	}
	if c.inline {
		return nil, false, errNoConn
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.timeout)
	defer cancel()
	if err := c.setStop(cancelFunc(cancel)); err != nil {
		return nil, false, err
	}
	if p.dial != nil {
		dialed, err := p.dial(ctx)
		if err != nil {
			_ = c.setStop(nil)
			return nil, false, err
		}
		return newPoolConn(dialed), false, nil
	}
	dialer := net.Dialer{}
	dialed, err := dialer.DialContext(ctx, "tcp", p.addr)
	if err != nil {
		_ = c.setStop(nil)
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, false, fmt.Errorf("connect to %s: no answer within %v", p.addr, p.timeout)
		}
		return nil, false, fmt.Errorf("connect to %s: %w", p.addr, err)
	}
	return newPoolConn(dialed), false, nil
}

func newPoolConn(conn net.Conn) *poolConn {
	c := &poolConn{Conn: conn}
	if sys, ok := conn.(syscall.Conn); ok {
		c.raw, _ = sys.SyscallConn()
	}
	c.look = func(fd uintptr) bool {
		c.stale = isStale(fd)
		return true
	}
	return c
}

func (p *connPool) pop() *poolConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	conn := p.idle[n-1]
	p.idle[n-1] = nil
	p.idle = p.idle[:n-1]
	return conn
}

// put adds an idle connection to the pool. If it returns false, the caller must close the connection.
func (p *connPool) put(conn *poolConn) bool {
	conn.since = time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) >= maxIdleConns {
		return false
	}
	p.idle = append(p.idle, conn)
	return true
}

// sweep closes connections that cannot be reused: see fresh. It returns false if none is left.
func (p *connPool) sweep() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.idle[:0]
	for _, conn := range p.idle {
		if conn.fresh(p.trusted) {
			kept = append(kept, conn)
		} else {
			conn.Close()
		}
	}
	clear(p.idle[len(kept):])
	p.idle = kept
	return len(kept) > 0
}

func (p *connPool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, conn := range p.idle {
		conn.Close()
	}
	p.idle = nil
}

// fresh reports whether an idle connection can be reused: it is open, has no data to read, and has been idle for less
// than trusted. A Node server closes a connection after 5 s of idle time. A check right before that would find the
// connection open, and the next request on it would be lost.
func (c *poolConn) fresh(trusted time.Duration) bool {
	idle := time.Since(c.since)
	if idle < hotFor {
		return true
	}
	if c.raw == nil || idle >= trusted {
		return false
	}
	c.stale = false
	c.unlimitRead() // with an expired deadline, the check would fail
	if err := c.raw.Read(c.look); err != nil {
		return false
	}
	return !c.stale
}

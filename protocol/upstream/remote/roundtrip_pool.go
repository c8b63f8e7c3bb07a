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
	maxIdleConns = 1024             // connections kept for the next exchange: fewer than what is in flight at once would be made anew all the time
	connIdleFor  = 60 * time.Second // at most this long
	hotFor       = time.Millisecond // idle for less: not worth a look, which is a twentieth of an exchange
	trustedFor   = 3 * time.Second  // idle for more: the server may be about to close it
)

// connPool keeps the connections to one address that no exchange holds. The last one back is the first out.
type connPool struct {
	addr    string
	timeout time.Duration // to connect

	mu     sync.Mutex
	idle   []*poolConn
	closed bool
}

// poolConn is a connection that can be asked whether the server has closed it.
type poolConn struct {
	net.Conn
	raw   syscall.RawConn       // nil = cannot be asked
	look  func(fd uintptr) bool // made once: asking allocates nothing
	stale bool                  // what look found
	since time.Time             // idle since
	until time.Time             // the read deadline; zero = none
}

// get returns an idle connection that is still good, or a new one. used: it has served before.
// While it connects, Cancel of c stops that.
func (p *connPool) get(c *exchange, reuse bool) (conn *poolConn, used bool, err error) {
	for reuse {
		if conn = p.pop(); conn == nil {
			break
		}
		if conn.fresh() {
			return conn, true, nil
		}
		conn.Close()
	}
	if c.lent {
		return nil, false, errNoConn
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.timeout)
	defer cancel()
	if err := c.hold(cancelFunc(cancel)); err != nil {
		return nil, false, err
	}
	dialer := net.Dialer{}
	dialed, err := dialer.DialContext(ctx, "tcp", p.addr)
	if err != nil {
		_ = c.hold(nil)
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

// put keeps a connection; false when it is to be closed.
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

// sweep closes what is idle for too long or closed by the server already; false when none is left.
func (p *connPool) sweep(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.idle[:0]
	for _, conn := range p.idle {
		if now.Sub(conn.since) < connIdleFor && conn.fresh() {
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

// fresh reports whether an idle connection can be used: open, and with nothing to read, since nothing was asked.
// A Node server closes a connection that was idle for 5 s, and the next request on it would be lost for no fault at all;
// a look right before that would find it open still.
func (c *poolConn) fresh() bool {
	idle := time.Since(c.since)
	if idle < hotFor {
		return true
	}
	if c.raw == nil || idle >= trustedFor {
		return false
	}
	c.stale = false
	c.calm() // a deadline that is past would be taken for its end
	if err := c.raw.Read(c.look); err != nil {
		return false
	}
	return !c.stale
}

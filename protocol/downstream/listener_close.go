package downstream

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// lastConnTime limits how long StopListening waits for a listener.
const lastConnTime = 500 * time.Millisecond

// closer closes a listener once all waiting connections are accepted. The system resets those that still wait when a listener is
// closed. closer connects to the listener itself: once this last connection is accepted, all earlier ones are accepted, too.
type closer struct {
	closing atomic.Bool
	mu      sync.Mutex
	last    string // local address of the last connection; "" = it could not be opened
	once    sync.Once
	closed  chan struct{} // nil before StopListening
}

// isLast reports whether an accepted connection is the last one.
func (c *closer) isLast(accepted net.Conn) bool {
	if !c.closing.Load() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last != "" && accepted.RemoteAddr().String() == c.last
}

// close closes the listener. Closing it again has no effect.
func (c *closer) close(l net.Listener) (err error) {
	c.once.Do(func() {
		err = l.Close()
		if c.closing.Load() {
			close(c.closed)
		}
	})
	return err
}

// Close implements net.Listener.
func (l *serverListener) Close() error { return l.close(l.Listener) }

// stop opens the last connection, and closes the listener when it is accepted, at the latest after lastConnTime.
func (c *closer) stop(l net.Listener) {
	c.mu.Lock()
	if c.closed != nil {
		c.mu.Unlock()
		return
	}
	c.closed = make(chan struct{})
	c.closing.Store(true)
	conn, err := net.DialTimeout(l.Addr().Network(), l.Addr().String(), lastConnTime)
	if err == nil {
		c.last = conn.LocalAddr().String()
	}
	c.mu.Unlock()
	if err != nil {
		_ = c.close(l)
		return
	}
	timer := time.NewTimer(lastConnTime)
	defer timer.Stop()
	select {
	case <-c.closed:
	case <-timer.C:
		_ = c.close(l)
	}
	_ = conn.Close()
}

// StopListening closes all listeners. Connections that clients have opened before are served, even if they are not accepted yet. It
// blocks for at most about lastConnTime for each listener. Shutdown follows.
func (s *Server) StopListening() {
	s.mu.Lock()
	listeners := s.listeners
	s.mu.Unlock()
	for _, l := range listeners {
		l.stop(l.Listener)
	}
}

package downstream

import "time"

// watching is a goroutine that waits for the client to leave while a request is handled.
type watching struct{ done chan struct{} }

// watch calls f, from another goroutine, when the client closes its side of the connection. A half-closed connection
// counts as closed, because clients that wait for an answer do not half-close. watch returns false if the system cannot
// detect that. The connection's goroutine calls watch, and must call unwatch before the connection is read again.
func (c *serverConn) watch(f func()) bool {
	if c.watcher != nil {
		return true
	}
	fd, ok := socketOf(c.raw)
	if !ok || !canWatch || c.secure && !canWatchSecure {
		return false
	}
	c.raw.SetReadDeadline(time.Time{})
	w := &watching{done: make(chan struct{})}
	c.watcher = w
	go func() {
		defer close(w.done)
		left := false
		_ = fd.Read(func(fd uintptr) bool {
			left = hasLeft(fd)
			return left
		})
		if left {
			f()
		}
	}()
	return true
}

// unwatch stops the watcher, if any, and waits until it has ended.
func (c *serverConn) unwatch() {
	if c.watcher == nil {
		return
	}
	c.raw.SetReadDeadline(time.Unix(1, 0)) // wakes the goroutine; fasthttp sets the next request's deadline
	<-c.watcher.done
	c.watcher = nil
}

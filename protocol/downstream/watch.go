package downstream

import "time"

// watching is a goroutine that waits for the client to leave while a handler of ours waits for the answer.
type watching struct{ done chan struct{} }

// watch has f called, from a goroutine of its own, when the client closes its side of the connection (half of it is
// enough: no client that wants its answer does that). It reports false where the system cannot tell.
// It belongs to the connection's goroutine, which must call unwatch before anybody reads from the connection again.
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

// unwatch ends the watcher, if there is one, and waits until it is gone.
func (c *serverConn) unwatch() {
	if c.watcher == nil {
		return
	}
	c.raw.SetReadDeadline(time.Unix(1, 0)) // wakes the goroutine; fasthttp sets the next request's deadline
	<-c.watcher.done
	c.watcher = nil
}

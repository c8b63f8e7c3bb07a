package remote

import (
	"sync"
	"time"

	"goblin-actor/protocol"
)

// Each request is a POST of its own, and a server may look at the later one first. Of a log level that matters: what is called after it has
// been set is to be told of by it. So what is sent meanwhile waits for the answer.

// orderFor is how long it waits at most: a server that does not answer keeps nobody from calling.
const orderFor = time.Second

var setLevel = protocol.MethodLoggingSetLevel.String()

// level is the request that sets the level, while it is under way. The link's mu guards it.
type level struct {
	by   *exchange     // nil = there is none
	done chan struct{} // closed when it is answered, or over
}

// order has an exchange wait for what has to be done before it, or others for it. With mu held.
func (l *httpLink) order(c *exchange) {
	if c.Method == setLevel {
		if l.level.by != nil {
			close(l.level.done) // the newer one counts
		}
		l.level = level{c, make(chan struct{})}
		return
	}
	if l.level.by != nil && c.Request {
		c.after = l.level.done
	}
}

// levelSet lets those go on that wait for the exchange.
func (l *httpLink) levelSet(c *exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.level.by == c {
		close(l.level.done)
		l.level = level{}
	}
}

// await blocks until what has to be done before the exchange is done, or has taken too long, or the exchange is canceled.
func (c *exchange) await() {
	late := time.NewTimer(orderFor)
	defer late.Stop()
	gone := &signal{ch: make(chan struct{})}
	if c.hold(gone) != nil {
		return
	}
	select {
	case <-c.after:
	case <-late.C:
	case <-gone.ch:
	}
	_ = c.hold(nil)
}

// signal is closed once, however often it is asked for.
type signal struct {
	once sync.Once
	ch   chan struct{}
}

func (s *signal) Close() error {
	s.once.Do(func() { close(s.ch) })
	return nil
}

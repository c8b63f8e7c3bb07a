package remote

import (
	"sync"
	"time"

	"goblin-actor/protocol"
)

// Each request is a separate POST, so a server may process a later one first. That matters for logging/setLevel, whose
// level must apply to later calls. So later requests wait for the response to it.

// orderFor is the maximum wait, in case the server does not respond.
const orderFor = time.Second

var setLevel = protocol.MethodLoggingSetLevel.String()

// level is the logging/setLevel request in progress. The link's mu guards it.
type level struct {
	by   *exchange     // nil = none
	done chan struct{} // closed when the request has ended or a newer one has replaced it
}

// order makes a request wait for logging/setLevel. The caller must hold mu.
func (l *httpLink) order(c *exchange) {
	if c.Method == setLevel {
		if l.level.by != nil {
			close(l.level.done) // the newer request replaces it
		}
		l.level = level{c, make(chan struct{})}
		return
	}
	if l.level.by != nil && c.Request {
		c.after = l.level.done
	}
}

// levelSet releases the requests that wait for the exchange.
func (l *httpLink) levelSet(c *exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.level.by == c {
		close(l.level.done)
		l.level = level{}
	}
}

// await blocks until the logging/setLevel request before the exchange has ended, orderFor has passed, or the exchange
// is canceled.
func (c *exchange) await() {
	late := time.NewTimer(orderFor)
	defer late.Stop()
	gone := &signal{ch: make(chan struct{})}
	if c.setStop(gone) != nil {
		return
	}
	select {
	case <-c.after:
	case <-late.C:
	case <-gone.ch:
	}
	_ = c.setStop(nil)
}

// signal is a channel that may be closed several times.
type signal struct {
	once sync.Once
	ch   chan struct{}
}

func (s *signal) Close() error {
	s.once.Do(func() { close(s.ch) })
	return nil
}

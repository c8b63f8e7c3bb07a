package backend

import (
	"context"
	"sync"
)

// Links counts connections that are open or being closed, so that the process can wait for its children.
// It is shared by all shells of a gateway and known to no step.
type Links struct {
	mu   sync.Mutex
	open int
	none chan struct{} // closed when open is 0 and somebody waits
}

// opened counts one connection; the returned function, called any number of times, ends it.
func (l *Links) opened() func() {
	l.mu.Lock()
	l.open++
	l.mu.Unlock()
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.open--
		if l.open == 0 && l.none != nil {
			close(l.none)
			l.none = nil
		}
	})
}

// Wait blocks until no connection is open or ctx ends.
func (l *Links) Wait(ctx context.Context) error {
	l.mu.Lock()
	if l.open == 0 {
		l.mu.Unlock()
		return nil
	}
	if l.none == nil {
		l.none = make(chan struct{})
	}
	none := l.none
	l.mu.Unlock()
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

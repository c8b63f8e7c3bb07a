package backend

import (
	"context"
	"sync"
)

// Links counts the connections that are open or closing, so that the gateway can wait for its child processes. All
// backends share it. It is safe for concurrent use.
type Links struct {
	mu   sync.Mutex
	open int
	none chan struct{} // closed when open is 0; nil if no goroutine waits
}

// opened counts a connection. The returned function stops counting it and may be called any number of times.
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

// Wait blocks until no connection is open or ctx is done. In the latter case it returns ctx.Err().
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

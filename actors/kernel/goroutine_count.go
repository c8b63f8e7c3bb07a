package kernel

import (
	"context"
	"sync"
)

// goroutineCount counts goroutines, so that System.Stop can wait until none is left. Unlike a sync.WaitGroup, it may be
// incremented during wait, and wait can be canceled. The zero goroutineCount is ready to use.
type goroutineCount struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // created by wait; closed when n reaches 0
}

func (c *goroutineCount) add() {
	c.mu.Lock()
	c.n++
	c.mu.Unlock()
}

func (c *goroutineCount) done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n--
	if c.n == 0 && c.none != nil {
		close(c.none)
		c.none = nil
	}
}

// wait blocks until the count is 0 or ctx ends. It returns the count at its end.
func (c *goroutineCount) wait(ctx context.Context) int {
	c.mu.Lock()
	if c.n == 0 {
		c.mu.Unlock()
		return 0
	}
	if c.none == nil {
		c.none = make(chan struct{})
	}
	none := c.none
	c.mu.Unlock()
	select {
	case <-none:
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

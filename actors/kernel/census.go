package kernel

import (
	"context"
	"sync"
)

// census counts goroutines, for a Stop that leaves none behind. Unlike a WaitGroup it may be counted up while
// somebody waits, and the wait can end early. The zero census is ready.
type census struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // made by wait, closed when n falls to 0
}

func (c *census) add() {
	c.mu.Lock()
	c.n++
	c.mu.Unlock()
}

func (c *census) done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n--
	if c.n == 0 && c.none != nil {
		close(c.none)
		c.none = nil
	}
}

// wait blocks until none is left (0) or ctx ends, and returns how many are left.
func (c *census) wait(ctx context.Context) int {
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

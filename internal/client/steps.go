package client

import "context"

// maxSteps is the maximum number of queued progress steps of a call. Beyond it, the oldest are dropped.
const maxSteps = 64

// steps reports the progress of one call in order. It has its own goroutine, because the callback may be slow or
// blocked by a terminal, and must delay neither the connection nor the end of the call.
type steps struct {
	queue chan Progress
	done  chan struct{} // closed when the goroutine has ended
}

// newSteps returns a queue whose goroutine calls report for each step until ctx ends. It returns nil if report is nil.
func newSteps(ctx context.Context, report func(Progress)) *steps {
	if report == nil {
		return nil
	}
	s := &steps{queue: make(chan Progress, maxSteps), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for p := range s.queue {
			if ctx.Err() == nil {
				report(p)
			}
		}
	}()
	return s
}

// add queues one step and never blocks. It must not be called concurrently or after end.
func (s *steps) add(p Progress) {
	for {
		select {
		case s.queue <- p:
			return
		default:
		}
		select {
		case <-s.queue:
		default:
		}
	}
}

// end waits until all steps have been reported, or ctx ends.
func (s *steps) end(ctx context.Context) {
	if s == nil {
		return
	}
	close(s.queue)
	select {
	case <-s.done:
	case <-ctx.Done():
	}
}

package client

import "context"

// maxSteps is how many steps of one call wait to be told; of more the oldest are left out.
const maxSteps = 64

// steps tells the progress of one call, in its order and in a goroutine of its own: whoever is told may be slow, or stuck on
// a terminal that takes nothing, and neither the connection nor the end of the call may wait for that.
type steps struct {
	queue chan Progress
	told  chan struct{} // closed once nothing is told any more
}

// newSteps begins to tell; no step is begun to be told after ctx has ended. nil when nobody wants to be told.
func newSteps(ctx context.Context, tell func(Progress)) *steps {
	if tell == nil {
		return nil
	}
	s := &steps{queue: make(chan Progress, maxSteps), told: make(chan struct{})}
	go func() {
		defer close(s.told)
		for p := range s.queue {
			if ctx.Err() == nil {
				tell(p)
			}
		}
	}()
	return s
}

// add takes one step without waiting. Not to be called at the same time as itself, or after end.
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

// end waits until all steps have been told, or ctx ends.
func (s *steps) end(ctx context.Context) {
	if s == nil {
		return
	}
	close(s.queue)
	select {
	case <-s.told:
	case <-ctx.Done():
	}
}

package load

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Crowd is a group of clients of an endpoint.
type Crowd struct {
	At      *Endpoint
	Tool    string // public name of the tool
	Args    string // arguments as a JSON object; "" = none
	Modern  bool
	Rate    float64 // open loop: calls per second of all clients together; 0 = closed loop
	callers []*Caller
}

// batch is the number of clients that connect or leave concurrently.
const batch = 16

// Grow connects clients until there are n.
func (w *Crowd) Grow(ctx context.Context, n int) error {
	type attempt struct {
		c   *Caller
		err error
	}
	for len(w.callers) < n && ctx.Err() == nil {
		several := min(batch, n-len(w.callers))
		attempts := make(chan attempt, several)
		for range several {
			go func() {
				c, err := w.At.Connect(w.Modern)
				attempts <- attempt{c, err}
			}()
		}
		var failed error
		for range several {
			one := <-attempts
			if one.err == nil {
				w.callers = append(w.callers, one.c)
			} else {
				failed = one.err
			}
		}
		if failed != nil {
			return failed
		}
	}
	return ctx.Err()
}

// Leave disconnects all clients.
func (w *Crowd) Leave() {
	for group := range slices.Chunk(w.callers, batch) {
		var all sync.WaitGroup
		for _, c := range group {
			all.Go(c.Leave)
		}
		all.Wait()
	}
	w.callers = nil
}

// Calls is the result of one run of a crowd.
type Calls struct {
	Elapsed   time.Duration
	Latencies []uint32       // of each result, in tenths of a microsecond
	Failed    map[string]int // calls without a result, by outcome
}

func (r *Calls) fail(what string) {
	if r.Failed == nil {
		r.Failed = map[string]int{}
	}
	r.Failed[what]++
}

// Run makes the first n clients call the tool for d, in a closed loop or at the constant rate.
func (w *Crowd) Run(ctx context.Context, n int, d time.Duration) (Calls, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	interrupted := context.AfterFunc(ctx, func() {
		for _, c := range w.callers[:n] {
			c.interrupt()
		}
	})
	defer interrupted()
	results := make(chan Calls, n)
	began := time.Now()
	var due atomic.Int64
	for i, c := range w.callers[:n] {
		go func() {
			if w.Rate > 0 {
				results <- c.dueLoop(ctx, w, i, &due, began, d)
			} else {
				results <- c.loop(ctx, w, i, began.Add(d))
			}
		}()
	}
	var r Calls
	for range n {
		one := <-results
		r.Latencies = append(r.Latencies, one.Latencies...)
		for what, n := range one.Failed {
			for range n {
				r.fail(what)
			}
		}
	}
	if r.Elapsed = time.Since(began); w.Rate > 0 {
		r.Elapsed = max(r.Elapsed, d) // the last call is due shortly before the end
	}
	if ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	return r, nil
}

package kernel

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// Functions scheduled by many goroutines at once run exactly once each, at most maxBusy at the same time. A function that
// ends its goroutine does not keep others from running.
func TestDispatcherRunsEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDispatcher()
		var ran, running, most atomic.Int64
		const goroutines, each = 20, 500
		var scheduling sync.WaitGroup
		for range goroutines {
			scheduling.Go(func() {
				for i := range each {
					d.Schedule(func() {
						defer running.Add(-1)
						for now := running.Add(1); ; {
							if before := most.Load(); now <= before || most.CompareAndSwap(before, now) {
								break
							}
						}
						ran.Add(1)
						if i%3 == 0 {
							runtime.Goexit()
						}
						runtime.Gosched()
					})
				}
			})
		}
		scheduling.Wait()
		synctest.Wait()
		if ran.Load() != goroutines*each || most.Load() > maxBusy {
			t.Errorf("%d ran, %d at once, want %d and at most %d", ran.Load(), most.Load(), goroutines*each, maxBusy)
		}
		if d.busy.Load() != 0 || d.waiting.Load() != 0 {
			t.Errorf("%d busy and %d waiting at the end", d.busy.Load(), d.waiting.Load())
		}
		d.close()
		if left := d.workers.wait(context.Background()); left != 0 {
			t.Errorf("%d goroutines are left", left)
		}
	})
}

package catalog

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
)

// spreadFrom is the number of items from which several processors are used. An item takes a few microseconds.
const spreadFrom = 256

// spread calls do for parts of 0…n that cover it, on several processors when so many items are worth it, and returns when all is
// done: a whole catalog is read once, at the start, when a client waits for it. do touches nothing that another part
// does. A panic comes out here, where somebody answers for it.
func spread(n, items int, do func(from, to int)) {
	workers := min(runtime.GOMAXPROCS(0), items/spreadFrom+1, max(n, 1))
	if workers == 1 {
		do(0, n)
		return
	}
	var all sync.WaitGroup
	panics := make(chan string, workers)
	for w := range workers {
		all.Go(func() {
			defer func() {
				if cause := recover(); cause != nil {
					panics <- fmt.Sprintf("%v\n%s", cause, debug.Stack())
				}
			}()
			do(w*n/workers, (w+1)*n/workers)
		})
	}
	all.Wait()
	select {
	case cause := <-panics:
		panic(cause)
	default:
	}
}

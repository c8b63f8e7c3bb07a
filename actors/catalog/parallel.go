package catalog

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
)

// spreadFrom is the number of items from which several processors are used. An item takes a few microseconds.
const spreadFrom = 256

// spread splits the indexes below n into consecutive ranges, calls a function for each range, and waits for all calls.
// It uses several processors if the ranges have many items in total (the parameter items): at the start the whole
// catalog is parsed while a client waits. The calls must not share data. A panic in one of them continues on the
// calling goroutine, where it is handled.
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

package serve

import (
	"os"
	"runtime/debug"
	"time"
)

// What the collector is told while the gateway starts: the heap grows from nothing to a whole catalog, all of which stays, and a
// collection at each doubling would take a third of the time until the first list is answered.
const (
	startGCPercent = 400
	startTime      = time.Second
)

// growFast spares the start most collections, unless somebody has said when to collect. Afterwards the system gets back what only the
// start needed.
func growFast() {
	usual, set := 0, false
	if _, set = os.LookupEnv("GOGC"); !set {
		usual = debug.SetGCPercent(startGCPercent)
	}
	time.AfterFunc(startTime, func() {
		if !set {
			debug.SetGCPercent(usual)
		}
		debug.FreeOSMemory()
		forgetProgram()
	})
}

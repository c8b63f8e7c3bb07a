package serve

import (
	"os"
	"runtime/debug"
	"time"
)

// The garbage collector runs less often during the start. The heap grows from nothing to a whole catalog, all of which is kept, and a
// collection at each doubling would take a third of the time until the first list is answered.
const (
	startGCPercent = 400
	startTime      = time.Second
)

// growFast avoids most collections during the start, unless GOGC is set. Afterwards, memory that only the start needed is returned to
// the system.
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

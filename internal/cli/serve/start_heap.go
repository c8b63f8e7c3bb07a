package serve

import (
	"os"
	"runtime/debug"
	"time"
)

// During the start, the garbage collector runs less often. The heap then grows from nothing to a whole catalog, all of
// which stays in use. Collections at each doubling would take a third of the time until the first list is answered.
const (
	startGCPercent = 400
	startTime      = time.Second
)

// growFast avoids most collections during the first second, unless GOGC is set. After this second, the process returns
// unused memory to the operating system and calls forgetProgram.
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

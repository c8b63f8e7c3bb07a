package main

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

// growFast spares the start most collections, unless somebody has said when to collect.
func growFast() {
	if _, set := os.LookupEnv("GOGC"); set {
		return
	}
	usual := debug.SetGCPercent(startGCPercent)
	time.AfterFunc(startTime, func() { debug.SetGCPercent(usual) })
}

//go:build race

package downstream

// raceEnabled excludes assertions about latencies, which the race detector distorts. make test checks them without it.
const raceEnabled = true

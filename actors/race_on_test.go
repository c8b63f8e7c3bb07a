//go:build race

package actors

// parkedCalls is smaller with the race detector, which is an order of magnitude slower.
const parkedCalls = 1_000

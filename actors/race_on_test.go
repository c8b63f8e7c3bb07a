//go:build race

package actors

// parkedCalls is fewer under the race detector, which is an order of magnitude slower; what is asserted is the same.
const parkedCalls = 1_000

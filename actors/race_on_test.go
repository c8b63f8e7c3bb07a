//go:build race

package actors

// parkedCalls is lower under the race detector, which is an order of magnitude slower.
const parkedCalls = 1_000

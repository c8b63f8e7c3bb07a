//go:build !race

package actors

// parkedCalls is how many calls TestTenThousandParkedCalls parks.
const parkedCalls = 10_000

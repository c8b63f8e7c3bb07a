// Package fabric simulates the bus of a cluster in one process, for the simulator and for tests: messages that are late or
// lost, connections that break in one direction, nodes that stall or die, and voters that are unreachable. Everything
// happens in calls by the caller's scheduler, and all random numbers come from the caller's source. So a run can be repeated
// if the scheduler and the source repeat theirs.
//
// As on the real bus, two nodes are connected or not. A connection over which no messages arrive in one direction breaks for
// both after a second or more. Until then, messages wait; they arrive if it recovers in time, and are lost otherwise.
package fabric

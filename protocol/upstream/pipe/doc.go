// Package pipe is a link to a peer in the same process, for tests and simulations. It passes frames without encoding them.
package pipe

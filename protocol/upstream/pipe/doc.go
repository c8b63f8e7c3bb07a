// Package pipe is a link to a peer in the same program, for tests and simulations: no bytes move, nothing else is missing.
package pipe

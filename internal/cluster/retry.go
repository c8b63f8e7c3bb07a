package cluster

import "time"

// MaxAttempts is how often a node decides which node must handle a request, before it refuses the request. The waits between
// the attempts are together longer than the nodes need to give a silent node up.
const MaxAttempts = 9

// Retry says what to do with a request that was passed on to another node and not executed there, because the node is gone, cannot be
// reached, or is not the one that the request is for.
type Retry struct {
	After time.Duration
	Do    func() // decides again, once After has passed; nil = the request is refused
}

// RetryOf returns the Retry after that many attempts.
func RetryOf(attempts int, do func()) Retry {
	if attempts >= MaxAttempts {
		return Retry{}
	}
	return Retry{5 * time.Millisecond << attempts, do}
}

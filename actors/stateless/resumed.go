package stateless

import (
	"crypto/sha256"
	"time"
)

// maxCameBack is how many states are remembered that have come back, in each of two spans of time.
const maxCameBack = 4096

// cameBack remembers the states with which clients have come back. Who comes back with one goes on with a call that was counted when it began; who
// comes with the same one again begins another. The zero value is ready.
type resumedStates struct {
	now, before map[[sha256.Size]byte]struct{}
	since       time.Time
}

// first reports whether a state has not come before within its life, as far as that is remembered.
func (c *resumedStates) first(now time.Time, life time.Duration, state []byte) bool {
	if len(c.now) >= maxCameBack || now.Sub(c.since) >= life {
		c.now, c.before, c.since = nil, c.now, now
	}
	sum := sha256.Sum256(state)
	if _, came := c.now[sum]; came {
		return false
	}
	if _, came := c.before[sum]; came {
		return false
	}
	if c.now == nil {
		c.now = map[[sha256.Size]byte]struct{}{}
	}
	c.now[sum] = struct{}{}
	return true
}

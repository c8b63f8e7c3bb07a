package stateless

import (
	"crypto/sha256"
	"time"
)

// maxCameBack limits the remembered states in each of two periods.
const maxCameBack = 4096

// resumedStates remembers the states with which clients have returned, for tools with a rate limit. The first return continues
// a call that was counted when it began; the same state again begins another. The zero value is ready.
type resumedStates struct {
	now, before map[[sha256.Size]byte]struct{}
	since       time.Time
}

// first reports whether a state has not returned before within its life, as far as that is remembered.
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

package stateless

import (
	"crypto/sha256"
	"time"
)

// maxResumed limits the states in each of the two maps.
const maxResumed = 4096

// resumedStates remembers the states with which clients have returned, for tools with a rate limit. The first return with a state
// continues a call that was counted when it began; each further return counts as a new call. The zero value is ready to use.
type resumedStates struct {
	now, before map[[sha256.Size]byte]struct{}
	since       time.Time
}

// first reports whether a state is seen for the first time within its lifetime. Beyond the limits, old states are forgotten.
func (c *resumedStates) first(now time.Time, life time.Duration, state []byte) bool {
	if len(c.now) >= maxResumed || now.Sub(c.since) >= life {
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

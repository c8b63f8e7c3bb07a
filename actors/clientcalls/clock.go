package clientcalls

import (
	"time"

	"goblin-actor/actors/kernel"
)

// Clock is the one timer behind the deadlines of all calls of a session or a desk. Most calls are answered long
// before: their deadlines never touch a timer that fires earlier.
type Clock struct {
	fires time.Time // zero = it does not run
	Gen   uint64    // of the timer that counts
}

// With more calls than fewCalls the timer is no finer than coarseTimer: thousands that end one after the other, a millisecond
// apart, would each have all the others looked at.
const (
	fewCalls    = 64
	coarseTimer = 50 * time.Millisecond
)

// Deadline says that a call may have run out of time.
type Deadline struct{ Gen uint64 }

// By makes sure that the timer fires no later than at; zero = never.
func (c *Clock) By(now, at time.Time, out []kernel.Effect) []kernel.Effect {
	if at.IsZero() || !c.fires.IsZero() && !at.Before(c.fires) {
		return out
	}
	c.Gen++
	c.fires = at
	return append(out, kernel.WakeAfter(max(0, at.Sub(now)), Deadline{c.Gen}))
}

// Fired has every call look at the time, and sets the timer for the next deadline.
func Fired[C interface{ Deadline() time.Time }](c *Clock, now time.Time, m Deadline, calls map[uint64]C, tick func(seq uint64, out []kernel.Effect) []kernel.Effect, out []kernel.Effect) []kernel.Effect {
	if m.Gen != c.Gen {
		return out
	}
	c.fires = now // no tick sets the timer: that is done once, below
	for _, seq := range kernel.SortedKeys(calls) {
		out = tick(seq, out)
	}
	c.fires = time.Time{}
	var next time.Time
	for _, one := range calls {
		if at := one.Deadline(); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if soon := now.Add(coarseTimer); len(calls) > fewCalls && !next.IsZero() && next.Before(soon) {
		next = soon
	}
	return c.By(now, next, out)
}

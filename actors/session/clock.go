package session

import (
	"time"

	"goblin-actor/actors/kernel"
)

// clock is the one timer behind the deadlines of all calls of a session or a desk. Most calls are answered long
// before: their deadlines never touch a timer that fires earlier.
type clock struct {
	fires time.Time // zero = it does not run
	gen   uint64    // of the timer that counts
}

// With more than few calls the timer is no finer than coarse: thousands that end one after the other, a millisecond
// apart, would each have all the others looked at.
const (
	few    = 64
	coarse = 50 * time.Millisecond
)

// deadline: a call may have run out of time.
type deadline struct{ gen uint64 }

// by makes sure that the timer fires no later than at; zero = never.
func (c *clock) by(now, at time.Time, out []kernel.Effect) []kernel.Effect {
	if at.IsZero() || !c.fires.IsZero() && !at.Before(c.fires) {
		return out
	}
	c.gen++
	c.fires = at
	return append(out, kernel.WakeAfter(max(0, at.Sub(now)), deadline{c.gen}))
}

// fired has every call look at the time, and sets the timer for the next deadline.
func fired[C interface{ Deadline() time.Time }](c *clock, now time.Time, m deadline, calls map[uint64]C, tick func(seq uint64, out []kernel.Effect) []kernel.Effect, out []kernel.Effect) []kernel.Effect {
	if m.gen != c.gen {
		return out
	}
	c.fires = now // no tick sets the timer: that is done once, below
	for _, seq := range sortedKeys(calls) {
		out = tick(seq, out)
	}
	c.fires = time.Time{}
	var next time.Time
	for _, call := range calls {
		if at := call.Deadline(); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if soon := now.Add(coarse); len(calls) > few && !next.IsZero() && next.Before(soon) {
		next = soon
	}
	return c.by(now, next, out)
}

package clientcalls

import (
	"time"

	"goblin-actor/actors/kernel"
)

// clock is the one timer for the deadlines of all calls of a holder. Most calls are answered long before their deadline, and
// never touch a timer that fires earlier.
type clock struct {
	fires time.Time // when the timer fires; zero = it does not run
	gen   uint64    // of the timer that counts
}

// With more calls than fewCalls, the timer is no finer than coarseTimer. Otherwise thousands of calls that end a millisecond
// apart would each cause a check of all the others.
const (
	fewCalls    = 64
	coarseTimer = 50 * time.Millisecond
)

// deadlineDue says that a call may have reached its deadline.
type deadlineDue struct{ gen uint64 }

// by makes sure that the timer fires no later than at; zero = never.
func (c *clock) by(now, at time.Time, out []kernel.Effect) []kernel.Effect {
	if at.IsZero() || !c.fires.IsZero() && !at.Before(c.fires) {
		return out
	}
	c.gen++
	c.fires = at
	return append(out, kernel.WakeAfter(max(0, at.Sub(now)), deadlineDue{c.gen}))
}

// fired reports whether m is of the timer that counts. Until next is called, by sets no timer.
func (c *clock) fired(now time.Time, m deadlineDue) bool {
	if m.gen != c.gen {
		return false
	}
	c.fires = now
	return true
}

// next sets the timer after it has fired, for the earliest deadline of the calls; zero = there is none.
func (c *clock) next(now, earliest time.Time, calls int, out []kernel.Effect) []kernel.Effect {
	c.fires = time.Time{}
	if soon := now.Add(coarseTimer); calls > fewCalls && !earliest.IsZero() && earliest.Before(soon) {
		earliest = soon
	}
	return c.by(now, earliest, out)
}

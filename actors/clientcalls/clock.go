package clientcalls

import (
	"time"

	"goblin-actor/actors/kernel"
)

// clock is a single timer for the deadlines of all calls of a holder. Most calls are answered long before their deadline, and a new
// call sets no timer if the current one fires before its deadline.
type clock struct {
	fires time.Time // when the timer fires; zero = it is not set
	gen   uint64    // generation of the current timer
}

// If a holder has more than fewCalls calls, the next check of their deadlines is set for coarseTimer later at the
// earliest. Otherwise thousands of deadlines a millisecond apart would each cause a check of all calls.
const (
	fewCalls    = 64
	coarseTimer = 50 * time.Millisecond
)

// deadlineDue arrives when a call may have reached its deadline.
type deadlineDue struct{ gen uint64 }

// by makes sure that the timer fires no later than the given time. If that time is zero, there is no deadline.
func (c *clock) by(now, at time.Time, out []kernel.Effect) []kernel.Effect {
	if at.IsZero() || !c.fires.IsZero() && !at.Before(c.fires) {
		return out
	}
	c.gen++
	c.fires = at
	return append(out, kernel.WakeAfter(max(0, at.Sub(now)), deadlineDue{c.gen}))
}

// fired reports whether m comes from the current timer. If so, the method by sets no timer until the method next is called.
func (c *clock) fired(now time.Time, m deadlineDue) bool {
	if m.gen != c.gen {
		return false
	}
	c.fires = now
	return true
}

// next sets the timer again after it has fired. The parameter earliest is the earliest deadline of the calls; zero = none
// has one.
func (c *clock) next(now, earliest time.Time, calls int, out []kernel.Effect) []kernel.Effect {
	c.fires = time.Time{}
	if soon := now.Add(coarseTimer); calls > fewCalls && !earliest.IsZero() && earliest.Before(soon) {
		earliest = soon
	}
	return c.by(now, earliest, out)
}

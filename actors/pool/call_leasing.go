package pool

import (
	"time"

	"goblin-actor/actors/kernel"
)

const (
	firstDoubt   = time.Minute // after the first question that names no call
	longestDoubt = time.Hour
)

// doubt limits a server to one running call on each connection after it sent a request that did not name its call,
// so that its next request can be attributed. It ends when no such request came for a while. That time doubles
// with each new doubt: a server that asks now and then keeps the limit, and a single stray request costs a minute.
type doubt struct {
	until    time.Time // when it ends unless another question comes; zero = the server is not in doubt
	duration time.Duration
	timer    uint64 // of the newest timer; older ones are ignored
}

// doubtDue reports the end of a doubt, unless it was extended.
type doubtDue struct{ timer uint64 }

// isLeased reports whether each connection takes only one running call at a time.
func (s *state) isLeased() bool {
	return !s.calls.doubt.until.IsZero() || s.server.Isolation == isolationLeased
}

// beginDoubt begins a doubt or extends it.
func (s *state) beginDoubt(now time.Time, out []kernel.Effect) []kernel.Effect {
	d := &s.calls.doubt
	if d.until.IsZero() {
		d.duration = min(max(firstDoubt, 2*d.duration), longestDoubt)
		out = append(out, s.doubtTimer(d.duration))
	}
	d.until = now.Add(d.duration)
	return out
}

// doubtTimer returns the effect that starts a new timer.
func (s *state) doubtTimer(after time.Duration) kernel.Effect {
	s.calls.doubt.timer++
	return kernel.WakeAfter(after, doubtDue{s.calls.doubt.timer})
}

// doubtDue ends a doubt and sends the calls that waited. A call that waits for a client's answer extends the
// doubt, since the server may ask again when it has the answer.
func (s *state) doubtDue(now time.Time, m doubtDue, out []kernel.Effect) []kernel.Effect {
	d := &s.calls.doubt
	if m.timer != d.timer || d.until.IsZero() {
		return out
	}
	if s.calls.parked > 0 {
		d.until = now.Add(d.duration)
	}
	if left := d.until.Sub(now); left > 0 {
		return append(out, s.doubtTimer(left))
	}
	d.until = time.Time{}
	return s.sendQueued(now, out)
}

// forgetDoubt ends a doubt without sending calls. It is used when the server may be another one.
func (s *state) forgetDoubt() { s.calls.doubt = doubt{timer: s.calls.doubt.timer + 1} }

package pool

import (
	"time"

	"goblin-actor/actors/kernel"
)

const (
	firstAutoLease   = time.Minute // duration of the first lease
	longestAutoLease = time.Hour
)

// autoLease limits each connection to one running call after the server sent a request that did not name its call. With
// one call, the next such request can be attributed. The limit is lifted once no such request has arrived for some time:
// one minute at first, and twice as long, up to an hour, each time the limit is imposed again. A server that keeps
// sending such requests therefore stays limited, while a single request limits it for a minute only.
type autoLease struct {
	until    time.Time     // when the limit is lifted unless another such request arrives; zero = no limit
	duration time.Duration // how long the limit lasts after such a request
	timer    uint64        // number of the newest timer; older ones are ignored
}

// autoLeaseDue reports that the limit may have to be lifted.
type autoLeaseDue struct{ timer uint64 }

// isLeased reports whether each connection takes only one running call at a time, apart from calls about tasks.
func (s *state) isLeased() bool {
	return !s.calls.autoLease.until.IsZero() || s.server.Isolation == isolationLeased
}

// beginAutoLease imposes the limit or extends it.
func (s *state) beginAutoLease(now time.Time, out []kernel.Effect) []kernel.Effect {
	d := &s.calls.autoLease
	if d.until.IsZero() {
		d.duration = min(max(firstAutoLease, 2*d.duration), longestAutoLease)
		out = append(out, s.autoLeaseTimer(d.duration))
	}
	d.until = now.Add(d.duration)
	return out
}

// autoLeaseTimer returns the effect that starts a new timer.
func (s *state) autoLeaseTimer(after time.Duration) kernel.Effect {
	s.calls.autoLease.timer++
	return kernel.WakeAfter(after, autoLeaseDue{s.calls.autoLease.timer})
}

// autoLeaseDue lifts the limit and sends the queued calls, unless the limit has been extended since the timer was
// started. While a call waits for a client's answer, the limit is extended instead, since the server may send another
// request when it has the answer.
func (s *state) autoLeaseDue(now time.Time, m autoLeaseDue, out []kernel.Effect) []kernel.Effect {
	d := &s.calls.autoLease
	if m.timer != d.timer || d.until.IsZero() {
		return out
	}
	if s.calls.parked > 0 {
		d.until = now.Add(d.duration)
	}
	if left := d.until.Sub(now); left > 0 {
		return append(out, s.autoLeaseTimer(left))
	}
	d.until = time.Time{}
	return s.sendQueued(now, out)
}

// forgetAutoLease lifts the limit without sending calls. It is used when the name may now stand for another server.
func (s *state) forgetAutoLease() { s.calls.autoLease = autoLease{timer: s.calls.autoLease.timer + 1} }

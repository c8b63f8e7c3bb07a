package token

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/oauth"
)

// renewal tracks the renewal of the token: the step in progress, when the next renewal is due, and how the last ones ended. At
// most one step is in progress.
type renewal struct {
	request uint64 // number of the request to the authorization server; 0 = none
	reading bool   // the store reads the login
	storing uint64 // number of the write that has to complete before the token is used; 0 = none
	timer   uint64 // number of the newest timer for the next renewal; older timers are ignored

	published time.Time // when the current token was published
	failures  int       // consecutive failures
	fault     error     // error of the last failure
	retryAt   time.Time // earliest time of the next attempt; zero = any time, but in needs-login only a login helps
	forced    int       // consecutive renewals forced by refusals; a refusal forcedWithin or more after the token's publication starts a new count
	looped    bool      // the server refuses new tokens too, and a later renewal is scheduled
	adopted   int       // consecutive logins of other processes that were adopted
}

// busy reports whether a step is in progress.
func (r *renewal) busy() bool { return r.request != 0 || r.reading || r.storing != 0 }

// begin starts a request and returns its number.
func (r *renewal) begin(requests *counter) uint64 {
	r.request = requests.next()
	return r.request
}

// cancel causes the result of the step in progress to be ignored.
func (r *renewal) cancel() { r.request, r.reading, r.storing = 0, false, 0 }

// wakeAfter schedules the next renewal in place of the one scheduled before.
func (r *renewal) wakeAfter(d time.Duration, out []kernel.Effect) []kernel.Effect {
	r.timer++
	return append(out, kernel.WakeAfter(d, renewalDue{r.timer}))
}

// unschedule cancels the scheduled renewal.
func (r *renewal) unschedule() { r.timer++ }

// mayForce reports whether a token that was refused may be renewed. If so, it counts the renewal.
func (r *renewal) mayForce(now time.Time) bool {
	if now.Sub(r.published) >= forcedWithin {
		r.forced = 0
	}
	if r.forced >= maxForced {
		return false
	}
	r.forced++
	return true
}

// succeeded records that a token was published.
func (r *renewal) succeeded(now time.Time) {
	r.published, r.failures, r.fault, r.retryAt, r.looped = now, 0, nil, time.Time{}, false
}

// failed records a failure and returns the pause before the next attempt. Depending on jitter, a random number in [0,1), the
// pause is shortened by less than half.
func (r *renewal) failed(now time.Time, err error, jitter float64) time.Duration {
	r.failures++
	r.fault = err
	r.forced = max(0, r.forced-1) // the failed renewal produced no token that could be refused
	pause := backoffMax
	if oauth.Temporary(err) {
		pause = min(backoffMin<<min(r.failures-1, 16), backoffMax)
	}
	pause -= time.Duration(float64(pause) / 2 * jitter)
	r.retryAt = now.Add(pause)
	return pause
}

// renewAfter returns the time from now until the token is renewed. It is renewed after 70 to 80 % of its lifetime,
// depending on jitter, a random number in [0,1), so that not all tokens are renewed together. The result is at least
// minRenewInterval or, if that is shorter, that part of the lifetime.
func renewAfter(now time.Time, t oauth.Token, jitter float64) time.Duration {
	life := t.Expires.Sub(t.Received)
	share := 0.8 - 0.1*jitter
	at := t.Received.Add(time.Duration(float64(life) * share))
	return max(at.Sub(now), min(minRenewInterval, time.Duration(float64(life)*share)))
}

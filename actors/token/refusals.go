package token

import (
	"errors"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/oauth"
	"goblin-actor/protocol/upstream"
)

// refusals holds the refused requests that wait for a renewal.
type refusals struct {
	waiting []chan<- upstream.Verdict
	denied  bool // a request was denied since the login's phase was last reported to the owner
}

// await adds a refused request to those that wait for the renewal, or denies it if too many wait.
func (r *refusals) await(to chan<- upstream.Verdict, out []kernel.Effect) []kernel.Effect {
	if len(r.waiting) >= maxRefused {
		return r.deny(to, &Error{"renew the login", errors.New("too many requests are waiting for the renewal; retry later"), ""}, out)
	}
	r.waiting = append(r.waiting, to)
	return out
}

// deny answers a refused request that must not be retried.
func (r *refusals) deny(to chan<- upstream.Verdict, why error, out []kernel.Effect) []kernel.Effect {
	r.denied = true
	if errors.Is(why, oauth.ErrNoLogin) {
		why = &noLoginError{why}
	}
	return append(out, kernel.Act(verdict{to, upstream.Verdict{Err: why}}))
}

// denyAll denies all waiting requests.
func (r *refusals) denyAll(why error, out []kernel.Effect) []kernel.Effect {
	for _, to := range r.waiting {
		out = r.deny(to, why, out)
	}
	r.waiting = nil
	return out
}

// retryAll answers all waiting requests with the verdict that they be retried.
func (r *refusals) retryAll(out []kernel.Effect) []kernel.Effect {
	for _, to := range r.waiting {
		out = append(out, kernel.Act(verdict{to: to, what: upstream.Verdict{Again: true}}))
	}
	r.waiting = nil
	return out
}

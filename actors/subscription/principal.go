package subscription

import (
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// expiryDue says that the credential of who listens may have expired.
type expiryDue struct{}

// principals takes what has become of who listens: nobody goes on listening who is nobody any more, and other rights show another catalog.
func (s *state) principals(now time.Time, m message.Principals, out []kernel.Effect) []kernel.Effect {
	newest, ok := m.Of(s.listener.who)
	switch {
	case m.Epoch < s.listener.epoch: // whoever was admitted since is known better
		return out
	case !ok && !s.begun:
		return s.refuse(message.Revoked, out)
	case !ok:
		return append(out, kernel.StopSelf())
	case newest == s.listener.who:
		return out
	}
	s.listener.who, s.listener.epoch, s.listener.key = newest, m.Epoch, message.Narrowed(s.listener.key, newest)
	out = s.setExpiryTimer(now, out)
	if s.view == nil {
		return out
	}
	return s.updateView(s.view.Snapshot(), false, out)
}

// untilExpiry has the stream looked at when the credential expires.
func (s *state) setExpiryTimer(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.listener.who == nil || s.listener.who.Expires.IsZero() {
		return out
	}
	return append(out, kernel.WakeAfter(max(0, s.listener.who.Expires.Sub(now)), expiryDue{}))
}

// expiryDue ends the stream of a client whose credential has expired: it listens again with another one. An older timer than that of the
// newest expiry changes nothing.
func (s *state) expiryDue(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.listener.who.Expires.IsZero() || now.Before(s.listener.who.Expires) {
		return out
	}
	return append(out, kernel.StopSelf())
}

// tasks are the ids of tasks of who listens.
func (s *state) tasks() admission.TaskIDs {
	return admission.TaskIDs{Sealer: s.sealer, Principal: message.PrincipalOf(s.listener.who)}
}

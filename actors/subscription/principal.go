package subscription

import (
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// expiryDue arrives when the client's credential may have expired.
type expiryDue struct{}

// principals replaces the client's principal with its newest value. If the principal no longer exists, the stream ends.
// With other rights the client gets another view.
func (s *state) principals(now time.Time, m message.Principals, out []kernel.Effect) []kernel.Effect {
	newest, ok := m.Of(s.listener.who)
	switch {
	case m.Epoch < s.listener.epoch: // a later admission has brought a newer value
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

// setExpiryTimer sets a timer for the expiry of the credential.
func (s *state) setExpiryTimer(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.listener.who == nil || s.listener.who.Expires.IsZero() {
		return out
	}
	return append(out, kernel.WakeAfter(max(0, s.listener.who.Expires.Sub(now)), expiryDue{}))
}

// expiryDue ends the stream if the client's credential has expired; the client opens a new one with a new credential. The timer of
// an older expiry has no effect.
func (s *state) expiryDue(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.listener.who.Expires.IsZero() || now.Before(s.listener.who.Expires) {
		return out
	}
	return append(out, kernel.StopSelf())
}

// tasks returns the task ids of the client's principal.
func (s *state) tasks() admission.TaskIDs {
	return admission.TaskIDs{Sealer: s.sealer, Principal: message.PrincipalOf(s.listener.who), Hop: s.listener.caller.Hop}
}

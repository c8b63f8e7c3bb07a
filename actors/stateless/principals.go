package stateless

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// principalsChanged ends the calls of principals that no longer exist, parked ones too. Requests that were admitted before are
// updated when they arrive.
func (s *state) principalsChanged(now time.Time, m message.Principals, out []kernel.Effect) []kernel.Effect {
	s.principals = m
	gone := func(v *heldCall) bool {
		_, known := m.Of(v.who)
		return !known
	}
	return s.calls.EndAll(now, gone, message.Revoked.Message, message.Revoked, out)
}

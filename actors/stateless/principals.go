package stateless

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// principalsChanged ends the calls of principals that no longer exist, including parked ones. Requests that were admitted before the
// change are checked again when they arrive.
func (s *state) principalsChanged(now time.Time, m message.Principals, out []kernel.Effect) []kernel.Effect {
	s.principals = m
	gone := func(v *heldCall) bool {
		_, known := m.Of(v.who)
		return !known
	}
	return s.calls.EndAll(now, gone, message.Revoked.Message, message.Revoked, out)
}

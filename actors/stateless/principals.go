package stateless

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// principalsChanged ends the calls of those who are nobody any more, parked ones too. What was admitted before and comes later is settled when
// it comes.
func (s *state) principalsChanged(now time.Time, m message.Principals, out []kernel.Effect) []kernel.Effect {
	s.principals = m
	gone := func(v *heldCall) bool {
		_, known := m.Of(v.who)
		return !known
	}
	return s.calls.EndAll(now, gone, message.Revoked.Message, message.Revoked, out)
}

package stateless

import (
	"time"

	"goblin-actor/actors/call"
	"goblin-actor/actors/clientcalls"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// principalsChanged ends the calls of those who are nobody any more, parked ones too. What was admitted before and comes later is settled when
// it comes.
func (s *state) principalsChanged(now time.Time, m message.Principals, out []kernel.Effect) []kernel.Effect {
	s.principals = m
	for _, seq := range kernel.SortedKeys(s.calls) {
		v := s.calls[seq]
		if v == nil {
			continue
		}
		if _, known := m.Of(v.who); known {
			continue
		}
		out = append(out, kernel.Tell(v.server.Pool, message.Cancel{Call: s.ref(seq), Reason: message.Revoked.Message}))
		out = s.event(now, seq, call.Broken{Fault: clientcalls.FaultOfCall(message.Revoked, &v.Call)}, out)
	}
	return out
}

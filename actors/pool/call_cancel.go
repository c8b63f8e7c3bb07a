package pool

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// cancel removes a call that waits in the queue or for a login. A running call is canceled at its backend.
func (s *state) cancel(m message.Cancel, out []kernel.Effect) []kernel.Effect {
	if r := s.calls.running[m.Call]; r != nil {
		r.cancelled = true
		return append(out, kernel.Tell(r.conn.ref, message.CancelSent{Call: m.Call, Reason: m.Reason}))
	}
	delete(s.logins.waiting, m.Call)
	if q := s.calls.queue.byCall[m.Call]; q != nil {
		s.calls.queue.remove(q)
	}
	return out
}

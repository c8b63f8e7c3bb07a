package backend

import (
	"fmt"
	"maps"
	"slices"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// mayRepeat reports whether a call may be sent again when its connection breaks: retry.inFlight allows it and the call
// is safe to repeat. A call during which the server has asked the client is not repeated, because the client would be
// asked again.
func (s *state) mayRepeat(p *pending) bool {
	return s.server.Retry.InFlight == "idempotent" && p.own == nil && p.round == nil && p.followed == nil && !p.hasAsked && p.request.Repeatable()
}

// takeRepeatable removes the repeatable calls from a broken connection and returns the effects that return them to the
// pool. These must follow the message about the loss, so that the pool does not send the calls here again before the
// next connection is ready.
func (s *state) takeRepeatable(reason string) []kernel.Effect {
	if s.life.phase != message.Ready || s.server.Retry.InFlight != "idempotent" {
		return nil
	}
	var lost []kernel.Effect
	for _, id := range slices.Sorted(maps.Keys(s.conn.pending)) {
		if p := s.conn.pending[id]; s.mayRepeat(p) {
			lost = append(lost, s.lost(id, p, fmt.Sprintf("server %s was lost during the call: %s", s.server.Name, reason)))
		}
	}
	return lost
}

// lost returns to the pool a call that the server may have executed.
func (s *state) lost(id uint32, p *pending, text string) kernel.Effect {
	s.remove(id, p)
	fault := s.fault(p, protocol.BackendDisconnected, text)
	return kernel.Tell(s.pool, message.ConnectionLost{Backend: s.self, Call: p.call, Request: p.request, Fault: fault, Reached: p.reached})
}

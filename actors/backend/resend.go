package backend

import (
	"fmt"
	"maps"
	"slices"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// mayRepeat reports whether a call may be sent once more when the connection breaks on which it was written: the configuration allows it
// for what does no harm twice. A call whose server has asked something is half done, and its client would be asked again.
func (s *state) mayRepeat(p *pending) bool {
	return s.server.Retry.InFlight == "idempotent" && p.own == nil && p.round == nil && p.followed == nil && !p.hasAsked && p.request.Repeatable()
}

// takeRepeatable takes the calls that may be sent once more off a connection that has broken. They go back to the pool when it knows that
// it has, so that none comes here again before the next is there.
func (s *state) takeRepeatable(reason string) []kernel.Effect {
	if s.life.phase != message.Ready || s.server.Retry.InFlight != "idempotent" {
		return nil
	}
	var lost []kernel.Effect
	for _, id := range slices.Sorted(maps.Keys(s.conn.pending)) {
		if p := s.conn.pending[id]; s.mayRepeat(p) {
			lost = append(lost, s.lost(id, p, fmt.Sprintf("server %s was lost while it worked on the call: %s", s.server.Name, reason)))
		}
	}
	return lost
}

// lost gives a call back that may have been written.
func (s *state) lost(id uint32, p *pending, text string) kernel.Effect {
	s.remove(id, p)
	fault := s.fault(p, protocol.BackendDisconnected, text)
	return kernel.Tell(s.pool, message.ConnectionLost{Backend: s.self, Call: p.call, Request: p.request, Fault: fault, Reached: p.reached})
}

package session

import (
	"fmt"

	"goblin-actor/actors/edge"
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/audit"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// noted tells the audit log how a call has ended; the effects from first on are what its client is told.
func (s *state) noted(h *heldCall, fault *protocol.Fault, first int, out []kernel.Effect) []kernel.Effect {
	return s.unsentIn(edge.AuditEnd(s.audit, h.record, fault, first, out))
}

// refused answers a request that is to be no call, and tells the audit log.
func (s *state) refused(x *downstream.Exchange, f *protocol.Fault, out []kernel.Effect) []kernel.Effect {
	first := len(out)
	return s.unsentIn(edge.AuditRefused(s.audit, x, s.key.Project, f, first, s.fault(x, f, out)))
}

// unsentIn counts the replies of the newest effect that wait for the audit log: a session that drains stays until they are sent.
func (s *state) unsentIn(out []kernel.Effect) []kernel.Effect {
	if s.audit.Has(audit.Each) && len(out) > 0 {
		if a, ok := out[len(out)-1].Act.(edge.Audited); ok && a.Replies != nil {
			s.unsent++
		}
	}
	return out
}

// shown names a call as people are shown it.
func (s *state) shown(seq uint64) string { return fmt.Sprintf("session/%s/%d", shortID(s.id), seq) }

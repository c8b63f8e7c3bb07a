package session

import (
	"fmt"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/clientcalls"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/reply"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// noted tells the audit log how a call has ended; the effects from first on are what its client is told.
func (s *state) noted(h *heldCall, fault *protocol.Fault, first int, out []kernel.Effect) []kernel.Effect {
	out = clientcalls.AuditEnd(s.audit, h.record, fault, first, out)
	s.unsent += clientcalls.Unsent(s.audit, out)
	return out
}

// refused answers a request that is to be no call, and tells the audit log.
func (s *state) refused(x *downstream.Exchange, f *protocol.Fault, out []kernel.Effect) []kernel.Effect {
	return s.refusedItem(x, f, nil, out)
}

// refusedItem is refused for what the policy may have denied (nil = it has not).
func (s *state) refusedItem(x *downstream.Exchange, f *protocol.Fault, denied *admission.Denied, out []kernel.Effect) []kernel.Effect {
	first := len(out)
	out = clientcalls.AuditRefused(s.audit, x, s.key.Project, f, denied, first, s.fault(x, f, out))
	s.unsent += clientcalls.Unsent(s.audit, out)
	return out
}

// note hands a record to the audit log. Replies that wait for it are sent by the log.
func (s *session) note(self kernel.Self, a clientcalls.Audited) {
	metrics, me := s.Metrics, self.Reference()
	a.Note(s.Audit, shortID(s.ID), func(act any) { reply.Perform(metrics, act) }, func() { me.Tell(replied{}) })
}

// shown names a call as people are shown it.
func (s *state) shown(seq uint64) string { return fmt.Sprintf("session/%s/%d", shortID(s.id), seq) }

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

// refused answers a request that is to be no call, and tells the audit log.
func (s *state) refuseCall(x *downstream.Exchange, f *protocol.Fault, out []kernel.Effect) []kernel.Effect {
	return s.refuseItem(x, f, nil, out)
}

// refusedItem is refused for what the policy may have denied (nil = it has not).
func (s *state) refuseItem(x *downstream.Exchange, f *protocol.Fault, denied *admission.Denied, out []kernel.Effect) []kernel.Effect {
	return s.calls.AuditRefused(x, s.catalog.key.Project, f, denied, len(out), s.fault(x, f, out))
}

// note hands a record to the audit log. Replies that wait for it are sent by the log.
func (s *session) commitAudit(self kernel.Self, a clientcalls.Audited) {
	metrics := s.Metrics
	a.Commit(s.Audit, shortID(s.ID), self.Reference(), func(act any) { reply.Perform(metrics, act) })
}

// CallName names a call as people are shown it.
func (s *state) CallName(seq uint64) string { return fmt.Sprintf("session/%s/%d", shortID(s.id), seq) }

package session

import (
	"fmt"
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/clientcalls"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// refuseCall answers a request that does not become a call, and records it.
func (s *state) refuseCall(x *downstream.Exchange, f *protocol.Fault, out []kernel.Effect) []kernel.Effect {
	return s.refuseItem(x, f, nil, out)
}

// refuseItem refuses a request for an item. The parameter denied says what the policy denied; nil = nothing.
func (s *state) refuseItem(x *downstream.Exchange, f *protocol.Fault, denied *admission.Denied, out []kernel.Effect) []kernel.Effect {
	out = append(out, clientcalls.Refused(x, s.client.name, s.client.version, f, denied))
	return s.calls.AuditRefused(x, s.catalog.key.Project, f, denied, len(out), s.fault(x, f, out))
}

// commitAudit hands a record to the audit log, which sends the replies that wait for it.
func (s *session) commitAudit(self kernel.Self, a clientcalls.Audited) {
	metrics := s.Metrics
	a.Commit(s.Audit, shortID(s.ID), self.Reference(), func(act any) { reply.Perform(metrics, act) })
}

// CallName returns the call's name for logs and the status.
func (s *state) CallName(seq uint64) string { return fmt.Sprintf("session/%s/%d", shortID(s.id), seq) }

// countStranger counts a request of a principal other than the session's.
func (s *session) countStranger(o *downstream.Origin, what string) {
	s.Metrics.Deny(time.Now(), StrangerRefusal(o, what))
}

// StrangerRefusal describes a request of a principal other than the session's, for operators.
func StrangerRefusal(o *downstream.Origin, what string) status.Refusal {
	return status.Refusal{Who: o.Principal, From: downstream.HostOf(o.Remote), What: what, Why: "the session belongs to another client"}
}

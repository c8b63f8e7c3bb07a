package stateless

import (
	"fmt"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/clientcalls"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

// refused answers a request that does not become a call, and records it.
func (s *state) refused(m message.StatelessRequest, f *protocol.Fault, out []kernel.Effect) []kernel.Effect {
	return s.refusedItem(m, f, nil, out)
}

// refusedItem is like refused, for a request that names an item. The parameter denied says what the policy denied; nil =
// nothing.
func (s *state) refusedItem(m message.StatelessRequest, f *protocol.Fault, denied *admission.Denied, out []kernel.Effect) []kernel.Effect {
	x := m.Exchange
	client := s.memo.clientName(x.Params.MetaClientInfo.Of(x.Frame.Raw))
	out = append(out, clientcalls.Refused(x, client, protocol.Version20260728, f, denied))
	first := len(out)
	out = append(out, kernel.Act(reply.Refuse{X: x, Fault: f}))
	return s.calls.AuditRefused(x, m.View.Project, f, denied, first, out)
}

// note hands a record to the audit log, which sends the replies that wait for it.
func (d *stateless) note(self kernel.Self, a clientcalls.Audited) {
	metrics := d.Metrics
	a.Commit(d.Audit, "desk", self.Reference(), func(act any) { perform(metrics, act) })
}

// perform executes the effects that write to an exchange, on any goroutine.
func perform(m *status.Metrics, act any) {
	switch a := act.(type) {
	case relayError:
		a.x.Refuse(a.status, a.frame, 0)
	case reply.Refuse:
		message.RefuseModern(a.X, a.Fault)
	default:
		reply.Perform(m, a)
	}
}

// CallName returns the call's name for logs and the status.
func (s *state) CallName(seq uint64) string {
	return fmt.Sprintf("desk/%d/%d", s.number, message.SeqNumber(seq))
}

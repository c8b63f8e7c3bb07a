package session

import (
	"errors"
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// batch handles the messages of a batch one by one. The transport combines their answers. Only MCP 2025-03-26 has batches
// (basic, batching), and initialize is never part of one.
func (s *state) batch(now time.Time, m message.Inbound, out []kernel.Effect) []kernel.Effect {
	x := m.Exchange
	fault := &protocol.Fault{Name: protocol.InvalidRequest}
	members, err := []*downstream.Exchange(nil), error(nil)
	switch {
	case !s.client.initialized:
		fault.Message = "send initialize first, not in a batch"
	case s.client.version != protocol.Version20250326:
		fault.Message = "batches are not part of protocol version " + s.client.version
	default:
		if members, err = x.Split(); err == nil && !hasInitialize(members) {
			for _, member := range members {
				admitted, refusal := admission.AdmitMember(m.Admitted, member)
				if refusal != nil {
					out = append(out, kernel.Act(refuseAdmission{member, refusal}))
					continue
				}
				out = s.inbound(now, message.Inbound{Exchange: member, Admitted: admitted}, out)
			}
			return out
		}
		fault.Message = "initialize must not be part of a batch"
	}
	if err != nil {
		fault.Message = err.Error()
		if errors.Is(err, protocol.ErrSyntax) {
			fault.Name = protocol.ParseFault
		}
	}
	return append(out, kernel.Act(refuse{x, 400, fault}))
}

func hasInitialize(members []*downstream.Exchange) bool {
	for _, member := range members {
		if member.Frame.Method == protocol.MethodInitialize {
			return true
		}
	}
	return false
}

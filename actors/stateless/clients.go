package stateless

import (
	"time"

	"goblin-actor/actors/call"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// usage counts a client's calls at this desk.
type usage struct{ inFlight, parked int }

// clientKey names who is counted: the principal where somebody was asked, however many clients and addresses it has.
func (s *state) clientKey(x *downstream.Exchange, who *identity.Principal) string {
	if principal := message.PrincipalOf(who); principal != "" {
		return principal
	}
	address, info := message.ClientOf(x)
	if len(info) == 0 {
		return address
	}
	if last := s.lastClient; len(last) == len(address)+len(info) && last[:len(address)] == address && last[len(address):] == string(info) {
		return last
	}
	s.lastClient = address + string(info)
	return s.lastClient
}

// makeRoom ends the oldest call of a client that waits for an answer while nobody waits for the call: whoever it was may have
// given it up without a word, as nothing in the protocol says so. It reports whether there was one.
func (s *state) makeRoom(now time.Time, client string, out []kernel.Effect) ([]kernel.Effect, bool) {
	var oldest *heldCall
	for _, v := range s.calls.All() {
		if v.caller.ClientKey == client && v.State == call.Parked && v.round > 0 && len(v.exchanges) == 0 && (oldest == nil || v.Seq < oldest.Seq) {
			oldest = v
		}
	}
	if oldest == nil {
		return out, false
	}
	const why = "nobody came back with the answer, and newer calls of this client wait for theirs (limits.parkedPerClient)"
	return s.calls.End(now, oldest, why, &protocol.Fault{Name: protocol.Overloaded, Server: oldest.Server, Message: why}, out), true
}

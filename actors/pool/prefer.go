package pool

import (
	"fmt"
	"slices"

	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// explainPreference says in a fault that the replicas that its client insists on are what is missing. Where there are none with these
// labels at all, it makes no sense to try again.
func (s *state) explainPreference(f *protocol.Fault, p *message.Prefer) {
	f.Name = protocol.NoBackendsAvailable
	exists := slices.ContainsFunc(s.replicas.connections, func(conn *connection) bool { return !conn.leaving && p.IsMetBy(conn.labels) })
	switch {
	case s.fault != "":
	case exists:
		f.Message = fmt.Sprintf("no replica with the labels that the request requires (%s) can take it now: %s", p, f.Message)
	default:
		f.Retryable = false
		f.Message = fmt.Sprintf("server %s has no replica with the labels that the request requires (%s)", s.server.Name, p)
	}
}

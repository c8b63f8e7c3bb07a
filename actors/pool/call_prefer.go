package pool

import (
	"fmt"
	"slices"

	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// explainPreference makes a fault say that no replica with the required labels can take the call. If no replica has
// these labels at all, the fault is not retryable. For a misconfigured server, the message stays as it is.
func (s *state) explainPreference(f *protocol.Fault, p *message.Prefer) {
	f.Name = protocol.NoBackendsAvailable
	exists := slices.ContainsFunc(s.replicas.connections, func(conn *connection) bool { return !conn.leaving && p.IsMetBy(conn.labels) })
	switch {
	case s.fault != "":
	case exists:
		f.Message = fmt.Sprintf("no replica with the required labels (%s) is available: %s", p, f.Message)
	default:
		f.Retryable = false
		f.Message = fmt.Sprintf("server %s has no replica with the required labels (%s)", s.server.Name, p)
	}
}

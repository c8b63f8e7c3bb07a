package desk

import (
	"time"

	"goblin-actor/actors/edge"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/seal"
)

// maxEarly is how many requests may wait for the first catalog at once.
const maxEarly = 1024

// waitForCatalog keeps a request that came before the catalog it needs: nothing can be said before there is one, and on stdin
// and stdout nothing of the servers before they have settled, for at most StartWait, as with initialize. It reports
// whether it did, or refused to.
func (s *state) waitForCatalog(m message.Visit, out []kernel.Effect) ([]kernel.Effect, bool) {
	x := m.Exchange
	if s.draining && !s.expected(m) || s.snapshot == nil && (s.startWaitOver || len(s.earlyVisits) >= maxEarly) {
		fault := &protocol.Fault{Name: protocol.ShuttingDown, Message: "the gateway is starting or shutting down", Retryable: true}
		return append(out, kernel.Act(edge.Refuse{X: x, Fault: fault})), true
	}
	if s.snapshot != nil && !s.waitsForServers(m) {
		return out, false
	}
	s.earlyVisits = append(s.earlyVisits, m)
	return out, true
}

// expected reports whether a request comes back with the answer that its call waits for: a desk that drains takes it still.
func (s *state) expected(m message.Visit) bool {
	return m.State != nil && m.State.Kind == seal.Parked && !s.drained
}

// waitsForServers reports whether servers that the client sees have to settle before the request is answered.
func (s *state) waitsForServers(m message.Visit) bool {
	x := m.Exchange
	if s.awaitedServers == 0 || !x.Origin.Stdio || x.Frame.M == protocol.MethodServerDiscover || len(s.earlyVisits) >= maxEarly {
		return false
	}
	view, ok := s.snapshot.View(m.View)
	return ok && edge.SettledIn(view) < s.awaitedServers
}

// serveEarly answers what has waited for the catalog.
func (s *state) serveEarly(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.snapshot != nil {
		if edge.SettledIn(s.snapshot.Whole()) >= s.awaitedServers {
			s.awaitedServers = 0
		}
	}
	waiting := s.earlyVisits
	s.earlyVisits = nil
	for _, m := range waiting { // those that must wait longer wait again
		out = s.visit(now, m, out)
	}
	return out
}

package stateless

import (
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/protocol"
	"goblin-actor/protocol/seal"
)

// maxEarly limits the requests that wait for the first catalog.
const maxEarly = 1024

// startAgain is the delay after which a client may retry a request that was refused because the gateway is starting.
const startAgain = time.Second

// startup holds requests until the catalog that they need is published.
type startup struct {
	snapshot *catalog.Snapshot          // the newest; nil = none yet
	waiting  []message.StatelessRequest // requests that arrived before the catalog they need
	awaited  int                        // number of servers that requests on stdin and stdout wait for
	over     bool                       // StartWait is over
}

// waitForCatalog holds or refuses a request that arrives before the catalog it needs, and reports whether it did. Without a
// catalog no request can be answered. On stdin and stdout, requests about servers also wait until the servers have settled. As with
// initialize, the wait lasts at most StartWait.
func (s *state) waitForCatalog(m message.StatelessRequest, out []kernel.Effect) ([]kernel.Effect, bool) {
	x := m.Exchange
	if fault := s.earlyFault(m); fault != nil {
		if m.PassOn != nil {
			return append(out, kernel.Act(turnAway{m.PassOn, reply.Refuse{X: x, Fault: fault}})), true
		}
		return append(out, kernel.Act(reply.Refuse{X: x, Fault: fault})), true
	}
	if s.startup.snapshot != nil && !s.waitsForServers(m) {
		return out, false
	}
	s.startup.waiting = append(s.startup.waiting, m)
	return out, true
}

// earlyFault returns the error with which to refuse the request, or nil if it can be answered or may wait. Refused requests have
// no effect.
func (s *state) earlyFault(m message.StatelessRequest) *protocol.Fault {
	switch {
	case s.draining && !s.isExpectedRetry(m):
		return &protocol.Fault{Name: protocol.ShuttingDown, Message: "the gateway is shutting down", Retryable: true}
	case s.startup.snapshot != nil:
		return nil
	case s.startup.over:
		return &protocol.Fault{Name: protocol.ServerUnavailable, Message: "the gateway is still starting; try again", Retryable: true, RetryAfter: startAgain}
	case len(s.startup.waiting) >= maxEarly:
		return &protocol.Fault{Name: protocol.Overloaded, Message: "the gateway is still starting and too many requests are waiting; retry later", Retryable: true, RetryAfter: startAgain}
	}
	return nil
}

// isExpectedRetry reports whether a request may bring the answer that a parked call waits for. Such a request is
// accepted while the actor drains, until the gateway has been told that draining is complete.
func (s *state) isExpectedRetry(m message.StatelessRequest) bool {
	return m.State != nil && m.State.Kind == seal.Parked && !s.drained
}

// waitsForServers reports whether the request must wait until the servers in the client's view have settled.
func (s *state) waitsForServers(m message.StatelessRequest) bool {
	x := m.Exchange
	if s.startup.awaited == 0 || !x.Origin.Stdio || x.Frame.Method == protocol.MethodServerDiscover || len(s.startup.waiting) >= maxEarly {
		return false
	}
	view, ok := s.startup.snapshot.View(m.View)
	return ok && admission.CountSettled(view) < s.startup.awaited
}

// serveWaiting answers the requests that have waited for the catalog.
func (s *state) serveWaiting(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.startup.snapshot != nil {
		if admission.CountSettled(s.startup.snapshot.Whole()) >= s.startup.awaited {
			s.startup.awaited = 0
		}
	}
	waiting := s.startup.waiting
	s.startup.waiting = nil
	for _, m := range waiting { // some may have to wait further
		out = s.request(now, m, out)
	}
	return out
}

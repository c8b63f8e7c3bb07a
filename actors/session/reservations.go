package session

import (
	"slices"

	"goblin-actor/actors/clientcalls"
	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol/downstream"
)

// A principal may be subscribed to so many resources over all its sessions and streams (limits.maxSubscriptionsPerPrincipal). The gateway counts
// them: a session asks it for each one before it subscribes, and gives back what it needs no more. Where nobody was asked who he is, nobody counts.

// reservation is a resources/subscribe that waits for the gateway's word.
type reservation struct {
	x        *downstream.Exchange
	resource clientsubs.Resource
	count    int
	canceled bool // its client has unsubscribed since
}

// lacks is how many the session has to ask for before it may subscribe to a resource; 0 = it may.
func (s *state) missingReservations(r clientsubs.Resource) int {
	if message.PrincipalOf(s.principal.who) == "" {
		return 0
	}
	return max(0, clientsubs.Cost(r.URI)-s.subs.reserved)
}

// takes notes that a resource is subscribed to.
func (s *state) useReservation(r clientsubs.Resource) {
	if message.PrincipalOf(s.principal.who) != "" {
		s.subs.reserved -= clientsubs.Cost(r.URI)
	}
}

// leaves notes that it is no more. What is left over goes back with giveBack.
func (s *state) freeReservation(r clientsubs.Resource) {
	if message.PrincipalOf(s.principal.who) != "" {
		s.subs.reserved += clientsubs.Cost(r.URI)
	}
}

// reserve asks the gateway for what is lacking.
func (s *state) reserve(x *downstream.Exchange, r clientsubs.Resource, out []kernel.Effect) []kernel.Effect {
	seq := s.calls.Next()
	h := &reservation{x: x, resource: r, count: s.missingReservations(r)}
	put(&s.subs.reserving, seq, h)
	return append(out, kernel.Tell(s.gateway, message.ReserveSubscriptions{Session: s.self, Seq: seq, Count: h.count}))
}

// dropReservations ends what waits to subscribe to a resource: the client has unsubscribed since.
func (s *state) dropReservations(r clientsubs.Resource) {
	for _, h := range s.subs.reserving {
		h.canceled = h.canceled || h.resource == r
	}
}

// maySubscribe goes on with a subscribe that has waited for the gateway's word, as if it had come only now. What it does not need it gives back before
// the client has its answer, and can subscribe elsewhere.
func (s *state) reservationResult(m message.ReserveSubscriptionsResult, out []kernel.Effect) []kernel.Effect {
	h, ok := s.subs.reserving[m.Seq]
	if !ok {
		return out
	}
	delete(s.subs.reserving, m.Seq)
	if m.Fault != nil {
		return s.fault(h.x, m.Fault, out)
	}
	s.subs.reserved += h.count
	from := len(out)
	if out = s.subscribeReserved(h, out); s.subs.reserved <= 0 {
		return out
	}
	return slices.Insert(out, from, s.releaseUnused(nil)...)
}

// subscribeReserved is the subscribe itself. That of a client that has unsubscribed since promises nothing, but that is not said of what is not there, or not
// any more: of what is not listed only its server would know, and is not asked.
func (s *state) subscribeReserved(h *reservation, out []kernel.Effect) []kernel.Effect {
	if !h.canceled {
		return s.subscribe(h.x, out)
	}
	_, found, fault := s.resourceOf(h.x)
	switch {
	case fault != nil:
		return s.fault(h.x, fault, out)
	case found.Unlisted:
		return s.fault(h.x, clientcalls.NoResource(h.x), out)
	}
	return s.result(h.x, []byte("{}"), out)
}

// giveBack gives back what the session holds and does not need: the resource may have gone while it waited, or another request has subscribed to it.
func (s *state) releaseUnused(out []kernel.Effect) []kernel.Effect {
	if s.subs.reserved <= 0 {
		return out
	}
	count := s.subs.reserved
	s.subs.reserved = 0
	return append(out, kernel.Tell(s.gateway, message.ReleaseSubscriptions{Session: s.self, Count: count}))
}

// giveAllBack gives back what the session is subscribed to as well.
func (s *state) releaseAll(out []kernel.Effect) []kernel.Effect {
	for r := range s.subs.active {
		s.freeReservation(r)
	}
	return s.releaseUnused(out)
}

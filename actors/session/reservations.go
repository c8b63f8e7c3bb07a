package session

import (
	"slices"

	"goblin-actor/actors/clientcalls"
	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol/downstream"
)

// A principal may be subscribed to a limited number of resources over all its sessions and streams
// (limits.maxSubscriptionsPerPrincipal). The gateway counts them: a session reserves each subscription there first, and returns
// those it no longer needs. Without authentication they are not counted.

// reservation is a resources/subscribe that waits for the gateway to grant it.
type reservation struct {
	x        *downstream.Exchange // nil = it was refused meanwhile, or the session restores a subscription
	restores string               // the URI of the subscription to restore; "" = none
	resource clientsubs.Resource
	count    int
	canceled bool // the client has unsubscribed meanwhile
}

// missingReservations returns how many subscriptions the session must reserve before it may subscribe to r.
func (s *state) missingReservations(r clientsubs.Resource) int {
	if message.PrincipalOf(s.principal.who) == "" {
		return 0
	}
	return max(0, clientsubs.Cost(r.URI)-s.subs.reserved)
}

// useReservation uses reserved subscriptions for a resource.
func (s *state) useReservation(r clientsubs.Resource) {
	if message.PrincipalOf(s.principal.who) != "" {
		s.subs.reserved -= clientsubs.Cost(r.URI)
	}
}

// freeReservation frees the subscriptions of a resource; releaseUnused returns them to the gateway.
func (s *state) freeReservation(r clientsubs.Resource) {
	if message.PrincipalOf(s.principal.who) != "" {
		s.subs.reserved += clientsubs.Cost(r.URI)
	}
}

// reserve asks the gateway for the missing subscriptions.
func (s *state) reserve(x *downstream.Exchange, r clientsubs.Resource, out []kernel.Effect) []kernel.Effect {
	seq := s.calls.Next()
	h := &reservation{x: x, resource: r, count: s.missingReservations(r)}
	put(&s.subs.reserving, seq, h)
	return append(out, kernel.Tell(s.gateway, message.ReserveSubscriptions{Session: s.self, Seq: seq, Count: h.count}))
}

// dropReservations cancels the pending subscribes to a resource from which the client has unsubscribed.
func (s *state) dropReservations(r clientsubs.Resource) {
	for _, h := range s.subs.reserving {
		h.canceled = h.canceled || h.resource == r
	}
}

// reservationResult continues a subscribe that has waited for the gateway, as if it had just arrived. Unneeded reservations are
// returned before the client gets its answer, so that the client can subscribe elsewhere at once.
func (s *state) reservationResult(m message.ReserveSubscriptionsResult, out []kernel.Effect) []kernel.Effect {
	h, ok := s.subs.reserving[m.Seq]
	if !ok {
		return out
	}
	delete(s.subs.reserving, m.Seq)
	if m.Fault != nil && h.x != nil {
		return s.fault(h.x, m.Fault, out)
	}
	if m.Fault == nil {
		s.subs.reserved += h.count
	}
	if h.x == nil {
		if h.restores != "" && !h.canceled && m.Fault == nil {
			out = s.restoreSubscription(h.restores, out)
		}
		return s.releaseUnused(out)
	}
	from := len(out)
	if out = s.subscribeReserved(h, out); s.subs.reserved <= 0 {
		return out
	}
	return slices.Insert(out, from, s.releaseUnused(nil)...)
}

// subscribeReserved subscribes. If the client has unsubscribed meanwhile, nothing is subscribed, but the answer is
// still an error if the resource does not exist. An unlisted resource counts as missing then, because only its server
// could tell.
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

// releaseUnused returns the reservations that are not used: the resource may have been removed while the request waited, or
// another request may have subscribed to it.
func (s *state) releaseUnused(out []kernel.Effect) []kernel.Effect {
	if s.subs.reserved <= 0 {
		return out
	}
	count := s.subs.reserved
	s.subs.reserved = 0
	return append(out, kernel.Tell(s.gateway, message.ReleaseSubscriptions{Session: s.self, Count: count}))
}

// releaseAll returns all reservations, including those of the active subscriptions.
func (s *state) releaseAll(out []kernel.Effect) []kernel.Effect {
	for r := range s.subs.active {
		s.freeReservation(r)
	}
	return s.releaseUnused(out)
}

package session

import (
	"slices"

	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// updated notifies the client that a resource has changed. Without a stream the notification is kept until one opens.
func (s *state) updated(m message.ResourceUpdated, out []kernel.Effect) []kernel.Effect {
	r, public, ok := clientsubs.SubscriptionFor(s.catalog.view, s.subs.active, &m)
	if !ok {
		return out
	}
	if len(s.streams) == 0 {
		return s.keep(r, m, out)
	}
	frame := rawjson.AppendEdited(nil, m.Frame.Raw, rawjson.Edit{Span: m.Span, With: rawjson.Quote(public)})
	return append(out, kernel.Act(push{streams: s.streams, method: m.Frame.Method, message: protocol.Message{Frame: frame, Newline: m.Frame.Newline}, key: public, undelivered: m, subscription: s.subs.active[r]}))
}

// Limits of the updates that wait for a stream.
const (
	maxDueOfResource = 64      // parts of one resource
	maxDueTogether   = 10_000  // of all resources
	maxDueFrame      = 4 << 10 // bytes of the server's frame; a longer one is replaced with a short one by the gateway
)

// keep stores an update until a stream opens.
func (s *state) keep(r clientsubs.Resource, m message.ResourceUpdated, out []kernel.Effect) []kernel.Effect {
	if s.subs.keep(r, m) {
		return append(out, kernel.Act(coalesced{s.subs.active[r]}))
	}
	return out
}

// keep stores the newest update of each URI. If too many parts of a resource have changed, only an update of the resource
// itself is kept. The result coalesced reports whether the update has replaced others.
func (u *subscriptions) keep(r clientsubs.Resource, m message.ResourceUpdated) (coalesced bool) {
	sub := u.active[r]
	m = boundedUpdate(m, m.URI)
	i := slices.IndexFunc(sub.Due, func(u message.ResourceUpdated) bool { return u.URI == m.URI })
	switch {
	case i >= 0:
		sub.Due[i] = m
	case len(sub.Due) < maxDueOfResource && u.waiting < maxDueTogether || len(sub.Due) == 0:
		sub.Due = append(sub.Due, m)
		u.waiting++
		return false
	default:
		u.waiting -= len(sub.Due) - 1
		sub.Due = []message.ResourceUpdated{boundedUpdate(m, r.URI)}
	}
	return true
}

// boundedUpdate returns m. If the server's frame is too long to be kept or is about another URI, it returns an update
// of uri that the gateway makes instead.
func boundedUpdate(m message.ResourceUpdated, uri string) message.ResourceUpdated {
	if len(m.Frame.Raw) <= maxDueFrame && m.URI == uri {
		return m
	}
	u, ok := message.UpdatedURI(uri)
	if !ok {
		return m
	}
	return message.ResourceUpdated{Server: m.Server, URI: u.URI, Frame: u.Frame, Span: u.Span}
}

// sendWaitingUpdates sends the updates that no stream has taken yet.
func (s *state) sendWaitingUpdates(out []kernel.Effect) []kernel.Effect {
	for _, m := range s.subs.takeWaiting() {
		out = s.updated(m, out)
	}
	return out
}

// takeWaiting removes and returns the updates that wait for a stream.
func (u *subscriptions) takeWaiting() (all []message.ResourceUpdated) {
	u.waiting = 0
	for _, r := range u.resources() {
		all = append(all, u.active[r].Due...)
		u.active[r].Due = nil
	}
	return all
}

// allUpdated notifies the client that every resource it is subscribed to at a server may have changed.
func (s *state) allUpdated(server string, out []kernel.Effect) []kernel.Effect {
	for _, u := range clientsubs.UpdatesOfAll(server, s.subs.active) {
		out = s.updated(u, out)
	}
	return out
}

package listener

import (
	"maps"
	"slices"

	"goblin-actor/actors/edge"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// owe keeps in mind a URI that was acknowledged, since its server was slow, and refused after that. The client has been promised to hear
// of it, so it is asked for again: here with the next connection, elsewhere when the catalog says that it is another server's.
// What its server has never named is asked for there only once it is listed.
func (s *state) owe(r edge.Resource, unmentioned bool, out []kernel.Effect) []kernel.Effect {
	public := s.subs[r].Public
	delete(s.subs, r)
	if s.owed == nil {
		s.owed = map[string]edge.Resource{}
	}
	s.owed[public] = edge.Resource{}
	if unmentioned {
		s.owed[public] = r
	}
	return s.keepPromises(out)
}

// keepPromises subscribes to what is owed where the catalog has it now.
func (s *state) keepPromises(out []kernel.Effect) []kernel.Effect {
	for _, public := range slices.Sorted(maps.Keys(s.owed)) {
		found, fault := s.view.Resource(public)
		if fault != nil {
			continue
		}
		was, now := s.owed[public], edge.Resource{Server: found.Server.Name, URI: found.Original}
		if was == now && found.Unlisted || s.subs[now] != nil {
			continue
		}
		if s.subs[was] != nil {
			out = append(out, kernel.Tell(s.subscribedAt[was.Server].Pool, message.UnsubscribeURI{Who: s.self, Tenant: s.subs[was].Own.KeyOf(), URI: was.URI}))
			delete(s.subs, was)
		}
		sub := s.subscription(found.Server, public)
		s.owed[public], s.subs[now] = now, sub
		s.subscribedAt[now.Server] = edge.LifeOf(found.Server)
		out = append(out, kernel.Tell(found.Server.Pool, message.Resubscribe{Who: s.self, Own: sub.Own, URIs: []string{now.URI}}))
	}
	return out
}

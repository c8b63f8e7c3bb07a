package subscription

import (
	"maps"
	"slices"

	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// owe keeps in mind a URI that was acknowledged, since its server was slow, and refused after that. The client has been promised to hear
// of it, so it is asked for again: here with the next connection, elsewhere when the catalog says that it is another server's. A server
// that does not list it and has not mentioned it is not asked.
func (s *state) owe(r clientsubs.Resource, out []kernel.Effect) []kernel.Effect {
	public := s.subs[r].Public
	delete(s.subs, r)
	if s.owed == nil {
		s.owed = map[string]clientsubs.Resource{}
	}
	s.owed[public] = r
	return s.keepPromises(out)
}

// keepPromises subscribes to what is owed where the catalog has it now.
func (s *state) keepPromises(out []kernel.Effect) []kernel.Effect {
	for _, public := range slices.Sorted(maps.Keys(s.owed)) {
		found, fault := s.view.Resource(public)
		if fault != nil {
			continue
		}
		was, now := s.owed[public], clientsubs.Resource{Server: found.Server.Name, URI: found.Original}
		if s.subs[now] != nil || found.Unlisted && now != was {
			continue
		}
		if s.subs[was] != nil {
			out = append(out, kernel.Tell(s.subscribedAt[was.Server].Pool, message.UnsubscribeURI{Who: s.self, Tenant: s.subs[was].Own.KeyOf(), URI: was.URI}))
			delete(s.subs, was)
		}
		sub := s.subscription(found.Server, public)
		s.owed[public], s.subs[now] = now, sub
		s.subscribedAt[now.Server] = clientsubs.LifeOf(found.Server)
		out = append(out, kernel.Tell(found.Server.Pool, message.Resubscribe{Who: s.self, Own: sub.Own, URIs: []string{now.URI}}))
	}
	return out
}

// giveUpDoubted forgets what no catalog has and no pool has heard of in time: it may be nothing at all, and is not promised.
func (s *state) giveUpDoubted(out []kernel.Effect) []kernel.Effect {
	for _, seq := range kernel.SortedKeys(s.pending) {
		r := s.pending[seq]
		if !s.doubted[r] {
			continue
		}
		out = append(out, kernel.Tell(s.subscribedAt[r.Server].Pool, message.UnsubscribeURI{Who: s.self, Tenant: s.subs[r].Own.KeyOf(), URI: r.URI}))
		delete(s.pending, seq)
		delete(s.subs, r)
		delete(s.doubted, r)
	}
	return out
}

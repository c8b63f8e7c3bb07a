package subscription

import (
	"maps"
	"slices"

	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// promise keeps a URI that was acknowledged because its server was slow, and refused afterwards. The acknowledgment
// promised updates, so the stream subscribes again at once, and at another server when a newer catalog finds the URI
// there. Another server at which the URI is valid only if mentioned (Found.Unlisted) is not queried.
func (s *state) promise(r clientsubs.Resource, out []kernel.Effect) []kernel.Effect {
	public := s.subs.active[r].Public
	delete(s.subs.active, r)
	if s.subs.promised == nil {
		s.subs.promised = map[string]clientsubs.Resource{}
	}
	s.subs.promised[public] = r
	return s.retryPromised(out)
}

// retryPromised subscribes to the promised URIs that are now found in the client's view, unless the stream is already
// subscribed to them there.
func (s *state) retryPromised(out []kernel.Effect) []kernel.Effect {
	for _, public := range slices.Sorted(maps.Keys(s.subs.promised)) {
		found, fault := s.view.Resource(public)
		if fault != nil {
			continue
		}
		was, now := s.subs.promised[public], clientsubs.Resource{Server: found.Server.Name, URI: found.Original}
		if s.subs.active[now] != nil || found.Unlisted && now != was {
			continue
		}
		if s.subs.active[was] != nil {
			out = append(out, kernel.Tell(s.subs.pools[was.Server].Pool, message.UnsubscribeURI{From: s.self, Tenant: s.subs.active[was].Own.KeyOf(), URI: was.URI}))
			delete(s.subs.active, was)
		}
		sub := s.subscription(found.Server, public)
		s.subs.promised[public], s.subs.active[now] = now, sub
		s.subs.pools[now.Server] = clientsubs.LifeOf(found.Server)
		out = append(out, kernel.Tell(found.Server.Pool, message.Resubscribe{From: s.self, Own: sub.Own, URIs: []string{now.URI}}))
	}
	return out
}

// dropUnconfirmed drops the URIs that are in no catalog and that no pool has confirmed in time. They may not exist, so they are not
// acknowledged.
func (s *state) dropUnconfirmed(out []kernel.Effect) []kernel.Effect {
	for _, seq := range kernel.SortedKeys(s.subs.pending) {
		r := s.subs.pending[seq]
		if !s.subs.unconfirmed[r] {
			continue
		}
		out = append(out, kernel.Tell(s.subs.pools[r.Server].Pool, message.UnsubscribeURI{From: s.self, Tenant: s.subs.active[r].Own.KeyOf(), URI: r.URI}))
		delete(s.subs.pending, seq)
		delete(s.subs.active, r)
		delete(s.subs.unconfirmed, r)
	}
	return out
}

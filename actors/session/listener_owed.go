package session

import (
	"maps"
	"slices"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// owe: a URI that was acknowledged, since its server was slow, was refused after that. The client has been promised to hear
// of it, so it is asked for again: here with the next connection, elsewhere when the catalog says that it is another server's.
func (s *listenState) owe(r resource, out []kernel.Effect) []kernel.Effect {
	public := s.subs[r].public
	delete(s.subs, r)
	if s.owed == nil {
		s.owed = map[string]resource{}
	}
	s.owed[public] = resource{}
	return s.keepPromises(out)
}

// keepPromises subscribes to what is owed where the catalog has it now.
func (s *listenState) keepPromises(out []kernel.Effect) []kernel.Effect {
	for _, public := range slices.Sorted(maps.Keys(s.owed)) {
		found, fault := s.view.Resource(public)
		if fault != nil {
			continue
		}
		was, now := s.owed[public], resource{server: found.Server.Name, uri: found.Original}
		if was == now || s.subs[now] != nil {
			continue
		}
		if s.subs[was] != nil {
			delete(s.subs, was)
			out = append(out, kernel.Tell(s.homes[was.server].pool, message.UnsubscribeURI{Who: s.self, URI: was.uri}))
		}
		s.owed[public], s.subs[now] = now, &subscription{public: public}
		s.homes[now.server] = homeOf(found.Server)
		out = append(out, kernel.Tell(found.Server.Pool, message.Resubscribe{Who: s.self, URIs: []string{now.uri}}))
	}
	return out
}

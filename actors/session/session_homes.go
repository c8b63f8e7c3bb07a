package session

import (
	"slices"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// rehome subscribes again where the pool is another one, or has forgotten. Clients that wait for an answer get theirs.
func (s *state) rehome(out []kernel.Effect) []kernel.Effect {
	asked := map[resource]bool{}
	for _, w := range s.subscribing {
		asked[w.resource] = asked[w.resource] || !w.known
	}
	out, servers := moved(s.homes, s.view.Snapshot(), s.self, s.subs, asked, out)
	for _, seq := range sortedKeys(s.subscribing) {
		if w := s.subscribing[seq]; slices.Contains(servers, w.server) {
			out = append(out, kernel.Tell(s.homes[w.server].pool, message.SubscribeURI{Who: s.self, Seq: seq, URI: w.uri}))
		}
	}
	return out
}

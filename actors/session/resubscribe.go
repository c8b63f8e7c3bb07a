package session

import (
	"slices"

	"goblin-actor/actors/edge"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// resubscribe subscribes again where the pool is another one, or has forgotten. Clients that wait for an answer get theirs.
func (s *state) resubscribe(out []kernel.Effect) []kernel.Effect {
	asked := map[edge.Resource]bool{}
	for _, w := range s.subscribing {
		asked[w.Resource] = asked[w.Resource] || !w.subscribedBefore
	}
	out, servers := edge.Resubscribe(s.subscribedAt, s.view.Snapshot(), s.self, s.subs, asked, out)
	for _, seq := range edge.SortedKeys(s.subscribing) {
		if w := s.subscribing[seq]; slices.Contains(servers, w.Server) {
			out = append(out, kernel.Tell(s.subscribedAt[w.Server].Pool, message.SubscribeURI{Who: s.self, Seq: seq, URI: w.URI}))
		}
	}
	return out
}

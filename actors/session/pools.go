package session

import (
	"slices"

	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// resubscribe tells pools that have lost their subscriptions which ones the client has or waits for. It also cancels those that
// the client has meanwhile unsubscribed from or moved to other connections.
func (s *state) resubscribe(out []kernel.Effect) []kernel.Effect {
	s.updateOwners()
	asked := map[clientsubs.Resource]bool{}
	for _, w := range s.subs.pending {
		asked[w.Resource] = asked[w.Resource] || !w.subscribedBefore
	}
	out, servers := clientsubs.Resubscribe(s.subs.pools, s.catalog.view.Snapshot(), s.self, s.subs.active, asked, out)
	for _, seq := range kernel.SortedKeys(s.subs.pending) {
		w := s.subs.pending[seq]
		if !slices.Contains(servers, w.Server) {
			continue
		}
		pool := s.subs.pools[w.Server].Pool
		out = append(out, kernel.Tell(pool, message.SubscribeURI{From: s.self, Seq: seq, URI: w.URI, Own: w.own}))
		if sub := s.subs.active[w.Resource]; sub == nil || sub.Own.KeyOf() != w.own.KeyOf() {
			out = append(out, kernel.Tell(pool, message.UnsubscribeURI{From: s.self, Tenant: w.own.KeyOf(), URI: w.URI}))
		}
	}
	for _, name := range servers {
		if _, has := s.tenantOf[name]; has { // the connections of this client are now in the new pool
			s.tenantOf[name] = s.subs.pools[name].Pool
		}
	}
	return out
}

// updateOwners moves the client's subscriptions to its own connections after a change of the settings that say which
// clients share a server's connections. A subscription with forwarded headers cannot be moved, because only a request
// of the client shows which headers it sends now. The subscription gets no updates until the client subscribes again or
// the settings are changed back.
func (s *state) updateOwners() {
	snapshot := s.catalog.view.Snapshot()
	for _, r := range clientsubs.Mismatched(s.subs.pools, snapshot, s.subs.active) {
		sub, server := s.subs.active[r], snapshot.Server(r.Server)
		if of := sub.Own.Of(); of == nil || len(of.Headers) == 0 {
			sub.Own = s.ownerOf(server, nil)
		}
	}
}

package session

import (
	"slices"

	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// resubscribe tells pools that have lost the subscriptions what the client is subscribed to or waits for. It also cancels what
// the client has unsubscribed meanwhile, or has subscribed to on other connections.
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
		if _, has := s.tenantOf[name]; has { // the new pool has its connections
			s.tenantOf[name] = s.subs.pools[name].Pool
		}
	}
	return out
}

// updateOwners follows changes of who shares a server's connections: the client's subscriptions move to the connections that
// are its own now. If it had sent headers, it is unknown whether it would send those that count now: such a subscription gets
// no updates until the client subscribes again, or the settings are as before.
func (s *state) updateOwners() {
	snapshot := s.catalog.view.Snapshot()
	for _, r := range clientsubs.Mismatched(s.subs.pools, snapshot, s.subs.active) {
		sub, server := s.subs.active[r], snapshot.Server(r.Server)
		if of := sub.Own.Of(); of == nil || len(of.Headers) == 0 {
			sub.Own = s.ownerOf(server, nil)
		}
	}
}

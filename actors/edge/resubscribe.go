package edge

import (
	"maps"
	"slices"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// PoolLife is the pool, in its present life, that knows a client as a subscriber.
type PoolLife struct {
	Pool kernel.Reference
	life uint64
}

// LifeOf is the pool that a server has now.
func LifeOf(server *catalog.Server) PoolLife { return PoolLife{server.Pool, server.Life} }

// Resubscribe compares the pools that know a client with those of a newer catalog. A server that was switched off and on again has
// another, one that was restarted has forgotten everything: they are told again what the client is subscribed to, but for what it is about to ask for (asked).
func Resubscribe(homes map[string]PoolLife, snapshot *catalog.Snapshot, who kernel.Reference, subs map[Resource]*Subscription, asked map[Resource]bool, out []kernel.Effect) (_ []kernel.Effect, servers []string) {
	for _, name := range slices.Sorted(maps.Keys(homes)) {
		server := snapshot.Server(name)
		if server == nil || LifeOf(server) == homes[name] {
			continue
		}
		homes[name] = LifeOf(server)
		servers = append(servers, name)
		m := message.Resubscribe{Who: who}
		for r := range subs {
			if r.Server == name && !asked[r] {
				m.URIs = append(m.URIs, r.URI)
			}
		}
		slices.Sort(m.URIs)
		out = append(out, kernel.Tell(server.Pool, m))
	}
	return out, servers
}

// UnsubscribeAll tells all of them that the client has gone.
func UnsubscribeAll(homes map[string]PoolLife, who kernel.Reference, out []kernel.Effect) []kernel.Effect {
	for _, name := range slices.Sorted(maps.Keys(homes)) {
		out = append(out, kernel.Tell(homes[name].Pool, message.UnsubscribeAll{Who: who}))
	}
	return out
}

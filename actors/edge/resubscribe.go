package edge

import (
	"maps"
	"slices"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// PoolLife is a pool between two of its restarts: with the next one it has forgotten who had subscribed to what.
type PoolLife struct {
	Pool kernel.Reference
	life uint64
}

// LifeOf is the pool that a server has now.
func LifeOf(server *catalog.Server) PoolLife { return PoolLife{server.Pool, server.Life} }

// Resubscribe compares the pools where a client is subscribed with those of a newer catalog. A server that was switched off and
// on again has another, one that was restarted has forgotten everything: they are told again what the client is subscribed to,
// but for the resources it is about to ask for. It returns the names of these servers.
func Resubscribe(at map[string]PoolLife, snapshot *catalog.Snapshot, who kernel.Reference, subs map[Resource]*Subscription, pending map[Resource]bool, out []kernel.Effect) (_ []kernel.Effect, servers []string) {
	for _, name := range slices.Sorted(maps.Keys(at)) {
		server := snapshot.Server(name)
		if server == nil || LifeOf(server) == at[name] {
			continue
		}
		at[name] = LifeOf(server)
		servers = append(servers, name)
		m := message.Resubscribe{Who: who}
		for r := range subs {
			if r.Server == name && !pending[r] {
				m.URIs = append(m.URIs, r.URI)
			}
		}
		slices.Sort(m.URIs)
		out = append(out, kernel.Tell(server.Pool, m))
	}
	return out, servers
}

// UnsubscribeAll tells the pools where a client is subscribed that it has gone.
func UnsubscribeAll(at map[string]PoolLife, who kernel.Reference, out []kernel.Effect) []kernel.Effect {
	for _, name := range slices.Sorted(maps.Keys(at)) {
		out = append(out, kernel.Tell(at[name].Pool, message.UnsubscribeAll{Who: who}))
	}
	return out
}

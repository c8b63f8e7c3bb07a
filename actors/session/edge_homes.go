package session

import (
	"maps"
	"slices"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// home is the pool, in its present life, that knows a client as a subscriber.
type home struct {
	pool kernel.Reference
	life uint64
}

func homeOf(server *catalog.Server) home { return home{server.Pool, server.Life} }

// moved compares the pools that know a client with those of a newer catalog. A server that was switched off and on again has
// another, one that was restarted has forgotten everything: they are told again what the client is subscribed to, but for what it is about to ask for (asked).
func moved(homes map[string]home, snapshot *catalog.Snapshot, who kernel.Reference, subs map[resource]*subscription, asked map[resource]bool, out []kernel.Effect) (_ []kernel.Effect, servers []string) {
	for _, name := range slices.Sorted(maps.Keys(homes)) {
		server := snapshot.Server(name)
		if server == nil || homeOf(server) == homes[name] {
			continue
		}
		homes[name] = homeOf(server)
		servers = append(servers, name)
		m := message.Resubscribe{Who: who}
		for r := range subs {
			if r.server == name && !asked[r] {
				m.URIs = append(m.URIs, r.uri)
			}
		}
		slices.Sort(m.URIs)
		out = append(out, kernel.Tell(server.Pool, m))
	}
	return out, servers
}

// leaveHomes tells all of them that the client has gone.
func leaveHomes(homes map[string]home, who kernel.Reference, out []kernel.Effect) []kernel.Effect {
	for _, name := range slices.Sorted(maps.Keys(homes)) {
		out = append(out, kernel.Tell(homes[name].pool, message.UnsubscribeAll{Who: who}))
	}
	return out
}

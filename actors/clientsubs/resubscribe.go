package clientsubs

import (
	"maps"
	"slices"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// PoolLife is a pool between two of its restarts, or two settings of who shares its connections: with the next one it has forgotten who
// had subscribed to what.
type PoolLife struct {
	Pool   kernel.Reference
	life   uint64
	shares string // who shares its connections; "" = everybody
}

// LifeOf is the pool that a server has now.
func LifeOf(server *catalog.Server) PoolLife {
	return PoolLife{server.Pool, server.Life, admission.SharesOf(&server.Rules)}
}

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
		out = resubscribe(server, who, subs, pending, out)
	}
	return out, servers
}

// Misfits are the subscriptions of a client that are no longer by the settings of their servers: their pools have ended them.
func Mismatched(at map[string]PoolLife, snapshot *catalog.Snapshot, subs map[Resource]*Subscription) (misfits []Resource) {
	for name, life := range at {
		server := snapshot.Server(name)
		if server == nil || LifeOf(server).shares == life.shares {
			continue
		}
		for r, sub := range subs {
			if r.Server == name && !sub.Own.Of().Fits(&server.Rules) {
				misfits = append(misfits, r)
			}
		}
	}
	slices.SortFunc(misfits, Resource.Compare)
	return misfits
}

// takeOver tells a pool what a client is subscribed to, and on whose connections: first what is on those that are for everybody.
func resubscribe(server *catalog.Server, who kernel.Reference, subs map[Resource]*Subscription, pending map[Resource]bool, out []kernel.Effect) []kernel.Effect {
	by := map[string]*message.Resubscribe{"": {Who: who}}
	for r, sub := range subs {
		if r.Server != server.Name || pending[r] {
			continue
		}
		key := sub.Own.KeyOf()
		if by[key] == nil {
			by[key] = &message.Resubscribe{Who: who, Own: sub.Own}
		}
		by[key].URIs = append(by[key].URIs, r.URI)
	}
	for _, key := range slices.Sorted(maps.Keys(by)) {
		slices.Sort(by[key].URIs)
		out = append(out, kernel.Tell(server.Pool, *by[key]))
	}
	return out
}

// UnsubscribeAll tells the pools where a client is subscribed that it has gone.
func UnsubscribeAll(at map[string]PoolLife, who kernel.Reference, out []kernel.Effect) []kernel.Effect {
	for _, name := range slices.Sorted(maps.Keys(at)) {
		out = append(out, kernel.Tell(at[name].Pool, message.UnsubscribeAll{Who: who}))
	}
	return out
}

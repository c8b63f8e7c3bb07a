package clientsubs

import (
	"maps"
	"slices"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// PoolLife identifies a pool between two events that make it lose all its subscriptions: a restart, or a change of the
// settings that determine which clients share its connections.
type PoolLife struct {
	Pool   kernel.Reference
	life   uint64
	shares string // these settings; "" = all clients share its connections
}

// LifeOf returns the life of a server's current pool.
func LifeOf(server *catalog.Server) PoolLife {
	return PoolLife{server.Pool, server.Life, admission.SharesOf(&server.Rules)}
}

// Resubscribe compares the pools that know of a client's subscriptions with those of a newer catalog. A server that was disabled and
// enabled again has a new pool, and a restarted pool has lost its subscriptions: these pools get the subscriptions again, except for
// the pending ones. Resubscribe returns the names of their servers.
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

// Mismatched returns the subscriptions that no longer match the settings of their servers. The pools have already ended them.
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

// resubscribe sends a client's subscriptions to a pool, one message for each owner of connections. The shared ones come first. The
// pool gets no message if there is nothing to restore, since any message would start a lazy server.
func resubscribe(server *catalog.Server, who kernel.Reference, subs map[Resource]*Subscription, pending map[Resource]bool, out []kernel.Effect) []kernel.Effect {
	by := map[string]*message.Resubscribe{}
	for r, sub := range subs {
		if r.Server != server.Name || pending[r] {
			continue
		}
		key := sub.Own.KeyOf()
		if by[key] == nil {
			by[key] = &message.Resubscribe{From: who, Own: sub.Own}
		}
		by[key].URIs = append(by[key].URIs, r.URI)
	}
	for _, key := range slices.Sorted(maps.Keys(by)) {
		slices.Sort(by[key].URIs)
		out = append(out, kernel.Tell(server.Pool, *by[key]))
	}
	return out
}

// UnsubscribeAll tells the pools that know of a client's subscriptions that the client has left.
func UnsubscribeAll(at map[string]PoolLife, who kernel.Reference, out []kernel.Effect) []kernel.Effect {
	for _, name := range slices.Sorted(maps.Keys(at)) {
		out = append(out, kernel.Tell(at[name].Pool, message.UnsubscribeAll{From: who}))
	}
	return out
}

package pool

import (
	"maps"
	"slices"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// What a tenant subscribes to is asked for on its own connections, one of which is made for that if there is none. A subscription counts
// as use: a connection that has one does not make room for others, and is not ended as idle. Else two tenants with subscriptions would take
// the last place from each other for ever, since whoever loses a connection is given another one.

// subscribedAt is the connection that is asked for updates of a resource; nil = there is none now. It is the one whose server has
// mentioned the resource, else the one that leads, or any of the tenant's own.
func (s *state) subscribedAt(key subKey) *slot {
	if !s.canAnswer(key.tenant) {
		return nil
	}
	if sl := s.mentionerOf(key.uri, key.tenant); sl != nil {
		return sl
	}
	if key.tenant == "" {
		return s.leader()
	}
	return s.readyOf(key.tenant)
}

// canAnswer reports whether there is a connection now on which a tenant's subscriptions, or everybody's, can be asked for.
func (s *state) canAnswer(tenant string) bool {
	if tenant == "" {
		return s.canAsk()
	}
	return s.readyOf(tenant) != nil
}

// readyOf is a connection of a tenant that can be asked; nil = none.
func (s *state) readyOf(tenant string) *slot {
	for _, sl := range s.slots {
		if sl.tenant.KeyOf() == tenant && !sl.leaving && !sl.lost && sl.phase == message.Ready {
			return sl
		}
	}
	return nil
}

// hasOwn reports whether a tenant has a connection of its own, in whatever phase.
func (s *state) hasOwn(tenant string) bool {
	return slices.ContainsFunc(s.slots, func(sl *slot) bool { return sl.tenant.KeyOf() == tenant && !sl.leaving })
}

// growForSubscriber makes a connection for a tenant of whom none can be asked, nor comes.
func (s *state) growForSubscriber(key subKey, sub *subscription, out []kernel.Effect) []kernel.Effect {
	switch {
	case key.tenant == "" || s.fault != "" || s.leader() == nil || s.canAnswer(key.tenant):
		return out
	case s.hasOwn(key.tenant) && s.mayAnswer(key.tenant):
		return out
	}
	w := wanted{tenant: key.tenant, can: sub.own.Can, oldClient: !sub.own.Modern}
	return s.growFor(s.now, w, asker{sub.own.Tenant, sub.own.Modern, sub.someone()}, out)
}

// growForSubscribers makes connections for the tenants that want to hear of something which nobody tells. No connection comes by itself for
// those who find no room: that is tried again.
func (s *state) growForSubscribers(out []kernel.Effect) []kernel.Effect {
	first := map[string]subKey{} // of each of these tenants
	for key, sub := range s.subs {
		if other, has := first[key.tenant]; key.tenant != "" && sub.at == nil && sub.wanted() && (!has || key.compare(other) < 0) {
			first[key.tenant] = key
		}
	}
	for _, tenant := range slices.Sorted(maps.Keys(first)) {
		out = s.growForSubscriber(first[tenant], s.subs[first[tenant]], out)
		if !s.hasOwn(tenant) { // nor is there room for others
			if s.leader() != nil {
				out = s.askAgainLater(out)
			}
			return out
		}
	}
	return out
}

// someone is one of those who want it.
func (sub *subscription) someone() kernel.Reference {
	if len(sub.waiting) > 0 {
		return sub.waiting[0].Who
	}
	return sub.subscribers.All()[0]
}

// settingsChanged ends what is no longer by the settings: subscriptions, and connections of tenants. Who relies on a subscription hears for
// the last time that there may have been changes; who may subscribe anew does so when it sees the new settings in the catalog.
func (s *state) settingsChanged(out []kernel.Effect) []kernel.Effect {
	for _, key := range s.sortedKeys(func(_ subKey, sub *subscription) bool { return !sub.own.Of().Fits(&s.server) }) {
		sub := s.subs[key]
		for _, w := range sub.waiting {
			out = append(out, kernel.Tell(w.Who, message.SubscribeURIResult{Seq: w.Seq, Fault: s.reloaded()}))
			if !w.known {
				sub.subscribers.Remove(w.Who)
			}
		}
		sub.missed = true
		out = s.tellMissed(key, sub, out)
		sub.waiting, sub.subscribers = nil, kernel.Crowd{}
		out = s.empty(key, sub, out)
	}
	for _, sl := range s.slots {
		if sl.tenant != nil && !sl.leaving && !sl.tenant.Fits(&s.server) {
			out = s.dismiss(sl, out)
		}
	}
	return out
}

// reloaded refuses to subscribe on connections that nobody uses any more.
func (s *state) reloaded() *protocol.Fault {
	return &protocol.Fault{Name: protocol.ServerUnavailable, Server: s.server.Name, Retryable: true,
		Message: "who shares the connections of server " + s.server.Name + " has just changed: subscribe again"}
}

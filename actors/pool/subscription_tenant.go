package pool

import (
	"maps"
	"slices"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// A tenant subscribes on its own connections, and one is opened if there is none. A subscription counts as use: its
// connection is neither closed to make room for another tenant nor closed as idle. Otherwise two tenants with
// subscriptions would take the last free connection from each other forever, since a tenant that loses its connection
// opens another one.

// connectionFor returns the connection that should carry a subscription: the one that mentioned the resource, else the
// leader, or, for a tenant, one of its own. It returns nil if none is ready.
func (s *state) connectionFor(key subKey) *connection {
	if !s.canSubscribe(key.tenant) {
		return nil
	}
	if conn := s.connectionKnowing(key.uri, key.tenant); conn != nil {
		return conn
	}
	if key.tenant == "" {
		return s.replicas.leader()
	}
	return s.replicas.readyConnectionOf(key.tenant)
}

// canSubscribe reports whether a ready connection can carry a tenant's subscriptions. The tenant "" stands for the
// shared connections.
func (s *state) canSubscribe(tenant string) bool {
	if tenant == "" {
		return s.replicas.hasReadyLeader()
	}
	return s.replicas.readyConnectionOf(tenant) != nil
}

// addForSubscriber opens a connection for a tenant's subscription, unless one is ready or will soon be, or the server has
// no leader.
func (s *state) addForSubscriber(key subKey, sub *subscription, out []kernel.Effect) []kernel.Effect {
	switch {
	case key.tenant == "" || s.fault != "" || s.replicas.leader() == nil || s.canSubscribe(key.tenant):
		return out
	case s.replicas.hasConnection(key.tenant) && s.maySubscribeLater(key.tenant):
		return out
	}
	w := target{tenant: key.tenant, announces: sub.own.Can, legacyClient: !sub.own.Modern}
	return s.addTenantConnection(s.now, w, requester{sub.own.Tenant, sub.own.Modern, sub.anySubscriber()}, out)
}

// addForSubscribers opens connections for the tenants with subscriptions that no connection reports on. If there is no
// room, it tries again later.
func (s *state) addForSubscribers(out []kernel.Effect) []kernel.Effect {
	first := map[string]subKey{} // the first such subscription of each tenant
	for key, sub := range s.subscriptions.byKey {
		if other, has := first[key.tenant]; key.tenant != "" && sub.conn == nil && sub.wanted() && (!has || key.compare(other) < 0) {
			first[key.tenant] = key
		}
	}
	for _, tenant := range slices.Sorted(maps.Keys(first)) {
		out = s.addForSubscriber(first[tenant], s.subscriptions.byKey[first[tenant]], out)
		if !s.replicas.hasConnection(tenant) { // no room, so others get none either
			if s.replicas.leader() != nil {
				out = s.retryLater(out)
			}
			return out
		}
	}
	return out
}

// anySubscriber returns one of the subscribers. There must be at least one.
func (sub *subscription) anySubscriber() kernel.Reference {
	if len(sub.waiting) > 0 {
		return sub.waiting[0].From
	}
	return sub.subscribers.All()[0]
}

// settingsChanged ends the subscriptions and tenant connections that no longer fit the configuration. Subscribers are
// notified once more that their resources may have changed. They subscribe again when they see the new settings in the
// catalog.
func (s *state) settingsChanged(out []kernel.Effect) []kernel.Effect {
	for _, key := range s.subscriptions.sortedKeys(func(_ subKey, sub *subscription) bool { return !sub.own.Of().Fits(&s.server) }) {
		sub := s.subscriptions.byKey[key]
		for _, w := range sub.waiting {
			out = append(out, kernel.Tell(w.From, message.SubscribeURIResult{Seq: w.Seq, Fault: s.isolationChangedFault()}))
			if !w.known {
				sub.subscribers.Remove(w.From)
			}
		}
		sub.missed = true
		out = s.notifyMissed(key, sub, out)
		sub.waiting, sub.subscribers = nil, kernel.ActorSet{}
		out = s.startGrace(key, sub, out)
	}
	for _, conn := range s.replicas.connections {
		if conn.tenant != nil && !conn.leaving && !conn.tenant.Fits(&s.server) {
			out = s.drain(conn, out)
		}
	}
	return out
}

// isolationChangedFault returns the fault for a subscription whose client has not seen the new isolation setting yet.
func (s *state) isolationChangedFault() *protocol.Fault {
	return &protocol.Fault{Name: protocol.ServerUnavailable, Server: s.server.Name, Retryable: true,
		Message: "the isolation setting of server " + s.server.Name + " has just changed; subscribe again"}
}

package pool

import (
	"slices"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// notifyMissed notifies the subscribers that a resource may have changed, if no connection reported its changes for a
// while.
func (s *state) notifyMissed(key subKey, sub *subscription, out []kernel.Effect) []kernel.Effect {
	if u, ok := message.UpdatedURI(key.uri); ok && sub.missed {
		return s.notifyUpdated(key.tenant, u, out)
	}
	return out
}

// notifyUpdated notifies every client that subscribed to the URI, or to a parent of it, on connections of the same
// tenant.
func (s *state) notifyUpdated(tenant string, m message.ResourceChanged, out []kernel.Effect) []kernel.Effect {
	var update any = s.resourceUpdated(m) // all subscribers share it
	var notified []*subscription
	for uri := range message.Covering(m.URI) {
		sub := s.subscriptions.byKey[subKey{tenant, uri}]
		if sub == nil {
			continue
		}
		for _, who := range sub.subscribers.All() {
			if !slices.ContainsFunc(notified, func(t *subscription) bool { return t.subscribers.Has(who) }) {
				out = append(out, kernel.Tell(who, update))
			}
		}
		notified = append(notified, sub)
	}
	return out
}

// resourceUpdated returns the message for subscribers.
func (s *state) resourceUpdated(m message.ResourceChanged) message.ResourceUpdated {
	return message.ResourceUpdated{Server: s.server.Name, URI: m.URI, Frame: m.Frame, Span: m.Span}
}

// resourceChanged handles a server's notification. A notification on a tenant's connection reaches only that tenant.
func (s *state) resourceChanged(m message.ResourceChanged, out []kernel.Effect) []kernel.Effect {
	tenant, known := s.tenantOf(m.Backend)
	if !known {
		return out
	}
	s.tenants.mentionsFor(tenant).add(m.URI, mention{})
	return s.notifyUpdated(tenant, m, out)
}

// allResourcesChanged notifies every subscriber of the connection's tenant that its resource may have changed. The server
// reported more changes than could be queued individually.
func (s *state) allResourcesChanged(m message.AllResourcesChanged, out []kernel.Effect) []kernel.Effect {
	tenant, known := s.tenantOf(m.Backend)
	if !known {
		return out
	}
	for _, key := range s.subscriptions.sortedKeys(func(key subKey, _ *subscription) bool { return key.tenant == tenant }) {
		if u, ok := message.UpdatedURI(key.uri); ok {
			out = s.notifyUpdated(tenant, u, out)
		}
	}
	return out
}

// tenantOf returns the tenant of a backend; "" = it is shared. It reports false if the connection is gone and the
// server isolates clients: then the connection's last notifications cannot be attributed and are dropped. The
// subscribers on that connection are notified when another connection has subscribed.
func (s *state) tenantOf(backend kernel.Reference) (tenant string, known bool) {
	if conn := s.replicas.byBackend(backend); conn != nil {
		return conn.tenant.KeyOf(), true
	}
	return "", !s.server.Isolates()
}

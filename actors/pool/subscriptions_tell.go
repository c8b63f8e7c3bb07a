package pool

import (
	"slices"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// tellMissed says that a resource may have changed while nobody told of that.
func (s *state) notifyMissed(key subKey, sub *subscription, out []kernel.Effect) []kernel.Effect {
	if u, ok := message.UpdatedURI(key.uri); ok && sub.missed {
		return s.notifyUpdated(key.tenant, u, out)
	}
	return out
}

// updated goes to everybody who subscribed to the URI or to what it is a part of, on connections of the tenant that it was told on, and to
// nobody else.
func (s *state) notifyUpdated(tenant string, m message.ResourceChanged, out []kernel.Effect) []kernel.Effect {
	var update any = s.resourceUpdated(m) // one for all
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

func (s *state) resourceUpdated(m message.ResourceChanged) message.ResourceUpdated {
	return message.ResourceUpdated{Server: s.server.Name, URI: m.URI, Frame: m.Frame, Span: m.Span}
}

// heardOfUpdate: a server says that a resource has changed. What it tells a tenant is known to that tenant alone.
func (s *state) resourceChanged(m message.ResourceChanged, out []kernel.Effect) []kernel.Effect {
	tenant, known := s.tenantOf(m.Backend)
	if !known {
		return out
	}
	s.tenants.mentionsFor(tenant).add(m.URI, mention{})
	return s.notifyUpdated(tenant, m, out)
}

// allUpdated tells every subscriber whom the connection serves that its resource may have changed: the server named too many to say which.
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

// tenantAt is the key of the tenant whose connection a backend is; "" = it is for everybody. Whose a connection was that has gone nobody
// can tell where some are not for everybody: what it said last is not heard. Who relied on it is told when another one is asked.
func (s *state) tenantOf(backend kernel.Reference) (tenant string, known bool) {
	if conn := s.replicas.byBackend(backend); conn != nil {
		return conn.tenant.KeyOf(), true
	}
	return "", !s.server.Isolates()
}

package pool

import (
	"maps"
	"net/textproto"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/config"
)

// spawnForTenant opens a connection for the client of a request.
func (s *state) spawnForTenant(now time.Time, conn *connection, by requester, out []kernel.Effect) []kernel.Effect {
	if of := by.tenant; of != nil {
		conn.tenant, conn.node, conn.usedAt = of, s.placeOf(of), now
		if s.tenants.byKey[of.Key] == nil {
			t := &tenant{level: of.Level}
			if of.Client != "" && !by.modern {
				t.session = by.session
			}
			s.tenants.byKey[of.Key] = t
		}
		out = s.armSweep(out)
	}
	return s.spawnConnection(now, conn, out)
}

// withTenantHeaders returns the configuration with the headers that the tenant's clients have sent. They replace
// configured headers of the same names. Connections to a process have no headers.
func withTenantHeaders(conn *connection, entry *config.Server) config.Server {
	if conn.tenant == nil || len(conn.tenant.Headers) == 0 || !traitsOf(entry).headers {
		return *entry
	}
	with := *entry
	with.Headers = map[string]string{}
	for name, value := range entry.Headers {
		if _, replaced := conn.tenant.Headers[textproto.CanonicalMIMEHeaderKey(name)]; !replaced {
			with.Headers[name] = value
		}
	}
	maps.Copy(with.Headers, conn.tenant.Headers)
	return with
}

// addTenantConnection opens a connection for a tenant at the suitable replica with the fewest tenant connections. It opens
// none if the tenant already has a connection of this class that the target allows. If maxBackends is reached, the least
// recently used idle connection of another tenant is closed to make room. If there is none, no connection is opened.
func (s *state) addTenantConnection(now time.Time, w target, by requester, out []kernel.Effect) []kernel.Effect {
	count, all := map[int]int{}, 0
	for _, conn := range s.replicas.connections {
		if conn.leaving || conn.tenant == nil {
			continue
		}
		if s.matchesClass(w, conn) && w.allows(conn) {
			return out // it has one that is starting, busy or unavailable
		}
		all++
		count[conn.replica]++
	}
	fewest := -1
	for replica := range s.replicaCount() {
		entry, _, runs := s.server.Replica(replica)
		if runs && w.allowsReplica(replica, entry.Labels) && !s.replicas.tools.deviating[replica][w.tool] && (fewest < 0 || count[replica] < count[fewest]) {
			fewest = replica
		}
	}
	if fewest < 0 {
		return out
	}
	if all >= s.server.MaxBackends {
		idle := s.leastRecentlyUsed(w.tenant)
		if idle == nil {
			return out
		}
		out = s.drain(idle, out)
	}
	can, legacy := s.classFor(w, fewest)
	return s.spawnForTenant(now, &connection{replica: fewest, announces: can, legacy: legacy}, by, out)
}

// leastRecentlyUsed returns the connection of another tenant that was used least recently and may be closed: it
// carries no call, none waits for it, and its tenant has no subscription. It returns nil if there is none.
func (s *state) leastRecentlyUsed(key string) *connection {
	busy, awaited := s.busyConnections(), map[string]bool{key: true}
	for _, q := range s.calls.queue.byCall {
		awaited[q.Request.Tenant.KeyOf()] = true
	}
	var idle *connection
	for _, conn := range s.replicas.connections {
		if conn.tenant == nil || conn.leaving || busy[conn] || awaited[conn.tenant.Key] || s.subscriptions.perTenant[conn.tenant.Key] > 0 {
			continue
		}
		if idle == nil || conn.usedAt.Before(idle.usedAt) {
			idle = conn
		}
	}
	return idle
}

// busyConnections returns the connections with running calls and, for calls that wait for a login, those of their tenants.
func (s *state) busyConnections() map[*connection]bool {
	busy := map[*connection]bool{}
	for _, r := range s.calls.running {
		busy[r.conn] = true
	}
	for _, w := range s.logins.waiting {
		for _, conn := range s.replicas.connections {
			busy[conn] = busy[conn] || conn.tenant.KeyOf() == w.Request.Tenant.KeyOf()
		}
	}
	return busy
}

// isFull reports whether the target's tenant has no suitable connection and maxBackends allows no further one.
func (s *state) isFull(w target) bool {
	if w.tenant == "" {
		return false
	}
	n := 0
	for _, conn := range s.replicas.connections {
		if conn.tenant != nil && !conn.leaving {
			if s.matchesClass(w, conn) && w.allows(conn) {
				return false
			}
			n++
		}
	}
	return n >= s.server.MaxBackends
}

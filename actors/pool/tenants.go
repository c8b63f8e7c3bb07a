package pool

import (
	"maps"
	"net/textproto"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// Connections of tenants carry the calls of one client, one user, or of those who have sent the same headers, and of nobody else. What
// the server lists comes from the main connections, which carry none of these calls.

// tenants holds what a server's tenants have beside their connections, and what those have that share the main connections.
type tenants struct {
	byKey          map[string]*tenant // those with connections
	sweepArmed     bool               // the timer that ends idle connections and logins runs
	sharedMentions mentions           // resources that the server has mentioned on shared connections
	sharedLevel    protocol.Level     // log level wanted on shared connections; LevelNone = no client has set one
}

// mentionsFor returns the resources that the server has mentioned to a tenant; "" = on shared connections.
func (all *tenants) mentionsFor(key string) *mentions {
	if key == "" {
		return &all.sharedMentions
	}
	if t := all.byKey[key]; t != nil {
		return &t.mentions
	}
	return &mentions{}
}

// tenant is what is kept of one while it has connections.
type tenant struct {
	mentions mentions // what the server has named to it
	level    protocol.Level
	session  kernel.Reference // its session, if it is one; else zero
}

// tenantsDue: connections of tenants, or logins of lanes, may have been idle for long enough.
type tenantsDue struct{}

// asker is for whom a connection is made.
type requester struct {
	tenant  *message.Tenant // nil = everybody
	modern  bool            // its era
	session kernel.Reference
}

// spawnFor starts a connection of a class for whoever makes a request.
func (s *state) spawnForTenant(now time.Time, conn *connection, by requester, out []kernel.Effect) []kernel.Effect {
	if of := by.tenant; of != nil {
		conn.tenant, conn.usedAt = of, now
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

// entryFor is how a slot's server is reached: with the headers that its tenant's clients have sent, in place of its own of the same
// names. A program has no headers.
func withTenantHeaders(conn *connection, entry *config.Server) config.Server {
	if conn.tenant == nil || len(conn.tenant.Headers) == 0 || len(entry.URLs) == 0 {
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

// growFor starts a connection for a tenant, who has one of each class: at the replica with the fewest of them. When there are as many
// as may be, one that nobody uses now makes room.
func (s *state) addTenantConnection(now time.Time, w target, by requester, out []kernel.Effect) []kernel.Effect {
	count, all := map[int]int{}, 0
	for _, conn := range s.replicas.connections {
		if conn.leaving || conn.tenant == nil {
			continue
		}
		if s.matchesClass(w, conn) && w.allows(conn) {
			return out // it has one, which comes, or is busy, or cannot be had
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

// idlest is the connection of another tenant that was used least recently, of those that carry nothing, that nobody waits for, and whose
// tenant has no subscription; nil = there is none.
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

// busySlots are those that have calls, also such as wait.
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

// isFull reports whether a tenant without a connection of the class that is wanted cannot have one now.
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

// wantsLevel tells a tenant's connections the log level that its client has set since.
func (s *state) updateLevel(of *message.Tenant, out []kernel.Effect) []kernel.Effect {
	t := s.tenants.byKey[of.KeyOf()]
	if t == nil || t.level == of.Level {
		return out
	}
	t.level = of.Level
	for _, conn := range s.replicas.connections {
		if conn.tenant.KeyOf() == of.Key && !conn.leaving {
			out = append(out, kernel.Tell(conn.ref, message.SetLevel{Level: of.Level}))
		}
	}
	return out
}

// levelFor is the log level that a connection is told.
func (s *state) levelFor(conn *connection) protocol.Level {
	if conn.tenant == nil {
		return s.tenants.sharedLevel
	}
	if t := s.tenants.byKey[conn.tenant.Key]; t != nil {
		return t.level
	}
	return protocol.LevelNone
}

// logged passes on a line that belongs to no call: from a tenant's connection to its session, or its principal's sessions, alone.
func (s *state) forwardLog(m message.ServerLog, out []kernel.Effect) []kernel.Effect {
	conn := s.replicas.byBackend(m.Backend)
	switch {
	case conn == nil: // it has gone, and nobody knows any more whose it was
		return out
	case conn.tenant == nil:
		return append(out, kernel.Tell(s.gateway, m))
	}
	if t := s.tenants.byKey[conn.tenant.Key]; t != nil && !t.session.IsZero() {
		return append(out, kernel.Tell(t.session, m))
	}
	if m.Principal = conn.tenant.Who; m.Principal != "" {
		out = append(out, kernel.Tell(s.gateway, m))
	}
	return out
}

// clientGone ends the connections of a client that has left. Its subscriptions have ended before (message.UnsubscribeAll).
func (s *state) clientGone(m message.ClientGone, out []kernel.Effect) []kernel.Effect {
	for _, conn := range s.replicas.connections {
		if conn.tenant != nil && conn.tenant.Client == m.Client && !conn.leaving {
			out = s.drain(conn, out)
		}
	}
	return out
}

// principals ends the connections of those who are nobody any more: their calls have been cancelled, and what their credentials opened closes.
func (s *state) principalsRevoked(m message.Principals, out []kernel.Effect) []kernel.Effect {
	for _, conn := range s.replicas.connections {
		if conn.tenant != nil && m.Revoked(conn.tenant.Who, conn.tenant.Epoch) && !conn.leaving {
			out = s.drain(conn, out)
		}
	}
	return out
}

// forgetTenant forgets a tenant without connections.
func (s *state) forgetTenant(of *message.Tenant) {
	if of == nil {
		return
	}
	for _, conn := range s.replicas.connections {
		if conn.tenant.KeyOf() == of.KeyOf() && !conn.leaving {
			return
		}
	}
	delete(s.tenants.byKey, of.KeyOf())
}

// tend has the connections and logins of tenants looked at when the first may have been idle for long enough.
func (s *state) armSweep(out []kernel.Effect) []kernel.Effect {
	if s.tenants.sweepArmed || s.limits.SessionIdle <= 0 {
		return out
	}
	s.tenants.sweepArmed = true
	return append(out, kernel.WakeAfter(min(s.limits.SessionIdle, laneIdle), tenantsDue{}))
}

// tenantsDue ends the connections that nobody has used for limits.sessionIdle: no client without a session says that it leaves. So it does with
// logins that have none.
func (s *state) sweepTenants(now time.Time, out []kernel.Effect) []kernel.Effect {
	s.tenants.sweepArmed = false
	busy := s.busyConnections()
	out, next := s.expireLogins(now, out)
	for _, conn := range s.replicas.connections {
		if conn.tenant == nil || conn.leaving {
			continue
		}
		idle := s.idleAfter(conn.tenant)
		until := conn.usedAt.Add(idle)
		if busy[conn] || s.subscriptions.perTenant[conn.tenant.Key] > 0 {
			until = now.Add(idle)
		} else if !now.Before(until) {
			out = s.drain(conn, out)
			continue
		}
		if next.IsZero() || until.Before(next) {
			next = until
		}
	}
	if next.IsZero() {
		return out
	}
	s.tenants.sweepArmed = true
	return append(out, kernel.WakeAfter(next.Sub(now), tenantsDue{}))
}

// stepTenants handles what concerns the clients of connections rather than single calls.
func (s *state) stepTenants(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.ServerLog:
		return s.forwardLog(m, out)
	case message.SetLevel:
		s.tenants.sharedLevel = m.Level
		return s.broadcastExcept(m, func(conn *connection) bool { return conn.tenant != nil }, out)
	case message.ResourcesMentioned:
		s.resourcesMentioned(m)
	case message.ClientGone:
		return s.clientGone(m, out)
	case message.Principals:
		return s.principalsRevoked(m, out)
	case tenantsDue:
		return s.sweepTenants(now, out)
	}
	return out
}

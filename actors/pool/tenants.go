package pool

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/protocol"
)

// A tenant's connection carries only the calls of one client, of one user, or of clients that have sent the same
// headers. The server's lists come from the main connections, which carry none of these calls.

// tenants holds the state of a server's tenants, apart from their connections. It also holds the mentions and the log
// level of the shared connections.
type tenants struct {
	byKey          map[string]*tenant // those with connections
	sweepArmed     bool               // the timer that ends idle connections and logins runs
	sharedMentions mentions           // resources that the server has mentioned on shared connections
	sharedLevel    protocol.Level     // log level of shared connections; LevelNone = no client has set one
	nodes          *cluster.View      // the members of the cluster; nil = all connections are on this node
	membership     kernel.Reference   // tells the other nodes which resources a shared server has mentioned; zero = there are none
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

// tenant is the pool's state of one tenant while it has connections.
type tenant struct {
	mentions mentions // resources that the server has mentioned to it
	level    protocol.Level
	session  kernel.Reference // the tenant's session; zero = it has none
}

// tenantsDue reports that connections of tenants, or logins of lanes, may have been idle for long enough.
type tenantsDue struct{}

// requester is the client for which a connection is opened.
type requester struct {
	tenant  *message.Tenant // nil = a shared connection
	modern  bool            // the client speaks a modern version
	session kernel.Reference
}

// updateLevel sends a tenant's connections the log level that its client has set.
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

// levelFor returns the log level of a connection.
func (s *state) levelFor(conn *connection) protocol.Level {
	if conn.tenant == nil {
		return s.tenants.sharedLevel
	}
	if t := s.tenants.byKey[conn.tenant.Key]; t != nil {
		return t.level
	}
	return protocol.LevelNone
}

// forwardLog forwards a server's log message that belongs to no call. A tenant's message goes only to its session, or
// else to the sessions of its principal. A tenant with neither gets none.
func (s *state) forwardLog(m message.ServerLog, out []kernel.Effect) []kernel.Effect {
	conn := s.replicas.byBackend(m.Backend)
	switch {
	case conn == nil: // the connection is gone, so the tenant is unknown
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

// clientGone closes the connections of a client that has left. Its subscriptions ended with message.UnsubscribeAll.
func (s *state) clientGone(m message.ClientGone, out []kernel.Effect) []kernel.Effect {
	for _, conn := range s.replicas.connections {
		if conn.tenant != nil && conn.tenant.Client == m.Client && !conn.leaving {
			out = s.drain(conn, out)
		}
	}
	return out
}

// principalsRevoked closes the connections of principals that no longer exist. Their calls were canceled before.
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

// armSweep starts the timer that ends idle connections and logins, unless it runs or connections never end
// (limits.sessionIdle 0).
func (s *state) armSweep(out []kernel.Effect) []kernel.Effect {
	if s.tenants.sweepArmed || s.limits.SessionIdle <= 0 {
		return out
	}
	s.tenants.sweepArmed = true
	return append(out, kernel.WakeAfter(min(s.limits.SessionIdle, laneIdle), tenantsDue{}))
}

// sweepTenants closes the connections that were unused for idleAfter, because clients without sessions do not report
// that they leave. It also stops the actors of unused logins (expireLogins).
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

// stepTenants handles messages about clients and tenants rather than single calls.
func (s *state) stepTenants(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.ServerLog:
		return s.forwardLog(m, out)
	case message.SetLevel:
		s.tenants.sharedLevel = m.Level
		return s.broadcastExcept(m, func(conn *connection) bool { return conn.tenant != nil }, out)
	case message.ResourcesMentioned:
		return s.resourcesMentioned(now, m, out)
	case message.PeerMentioned:
		s.peerMentioned(m)
	case message.ClientGone:
		return s.clientGone(m, out)
	case message.Principals:
		return s.principalsRevoked(m, out)
	case tenantsDue:
		return s.sweepTenants(now, out)
	}
	return out
}

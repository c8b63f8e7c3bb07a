package pool

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// In a cluster, the connections of a principal or session (isolation: principal, session) exist on one node only, because the server
// may keep state for it. For a session, that node is its home. For a principal, and for a client without sessions, all nodes choose it
// by the same hash. The pools of the other nodes connect to that node instead of to the server.

// view returns the members of the cluster, or nil if there are none.
func (h *Hops) view() *cluster.View {
	if h.Members == nil || h.Dial == nil {
		return nil
	}
	return h.Members.View()
}

// placeOf returns the node that has a tenant's connections, or "" if that is this node. Members of groups, servers with logins, and
// connections with headers of clients are not placed: each node has its own.
func (s *state) placeOf(of *message.Tenant) string {
	if s.tenants.nodes == nil || of == nil || of.Isolation != "principal" && of.Isolation != "session" || s.server.Run != config.RunEach || len(of.Headers) > 0 || s.server.LogsIn() {
		return ""
	}
	m := s.tenants.nodes.First(s.server.Name + " " + of.Key)
	if _, sealed := cluster.HomeOf(of.Client); sealed {
		m = s.tenants.nodes.Home(of.Client)
	}
	if m == nil || s.tenants.nodes.Mine(m.Incarnation) {
		return ""
	}
	return m.Node
}

// isMisplaced reports whether another node has sent a tenant's request, although this node would send it on. That happens while the
// nodes do not agree on the members.
func (s *state) isMisplaced(of *message.Tenant) bool {
	return of != nil && of.Hop && s.placeOf(of) != ""
}

func (s *state) misplacedFault() *protocol.Fault {
	return &protocol.Fault{Name: protocol.ServerUnavailable, Server: s.server.Name, Retryable: true,
		Message: "the nodes of the cluster do not agree yet which of them has this user's connection to server " + s.server.Name + "; the request was not executed"}
}

// nodesChanged closes the connections of tenants that belong to another node now. Running calls end first. The next call or
// subscription opens a new connection.
func (s *state) nodesChanged(m message.NodesChanged, out []kernel.Effect) []kernel.Effect {
	if s.tenants.nodes == nil {
		return out
	}
	s.tenants.nodes = m.View
	for _, conn := range s.replicas.connections {
		if conn.tenant != nil && !conn.leaving && conn.node != s.placeOf(conn.tenant) {
			out = s.drain(conn, out)
		}
	}
	return s.addForSubscribers(out)
}

// settingsOf returns the configuration of a connection's backend.
func (s *state) settingsOf(conn *connection) config.Server {
	return onNode(conn, s.backendConfig(conn.replica))
}

// entryOf returns how a connection reaches its server.
func entryOf(conn *connection, entry *config.Server) config.Server {
	return withHolder(conn, onNode(conn, withTenantHeaders(conn, entry)))
}

// onNode returns s, changed to reach the server through the node that has the connection, if that is another node. That node does the
// retries, so this one does none.
func onNode(conn *connection, s config.Server) config.Server {
	if conn.node != "" {
		s.Hop, s.Command, s.URLs, s.Headers, s.Retry.InFlight = conn.node, "", []string{s.HopURL(conn.node)}, nil, "never"
	}
	return s
}

package pool

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/remote"
)

// Hops says how a node of a cluster reaches the servers that other nodes run, and whether it may run one itself.
type Hops struct {
	Node    string                                                            // the name of this node
	Members *cluster.Members                                                  // the members of the cluster; nil = there are none
	Dial    func(ctx context.Context, node string) (conn net.Conn, err error) // opens a connection to a node; nil = there are no other nodes
	Fence   func(server string) upstream.Fence                                // of a server with run: one; nil = there are no such servers
	Nodes   kernel.Reference                                                  // the membership actor, which tells the other nodes of mentioned resources; zero = there is none
}

// openHop is the Opener for a server that another node of the cluster runs (config.Server.Hop).
func (p *pool) openHop(server config.Server, _ int) (func(upstream.Sink) upstream.Link, string) {
	headers := map[string]string{"Accept-Encoding": "identity", protocol.HeaderNodeHop: p.Hops.Node}
	maps.Copy(headers, server.Headers)
	o := remote.Options{
		URL: server.URLs[0], Headers: headers, MaxMessageBytes: int(p.Limits.MaxMessageBytes), Budget: p.Budget,
		Dial: func(ctx context.Context) (net.Conn, error) { return p.Hops.Dial(ctx, server.Hop) },
	}
	return func(sink upstream.Sink) upstream.Link { return remote.OpenHTTP(o, sink) }, "http"
}

// nodeJoined makes the backends connect if the node that runs the server, or their member of a group, has joined the cluster.
func (s *state) nodeJoined(m message.NodeJoined, out []kernel.Effect) []kernel.Effect {
	return s.broadcastExcept(m, func(conn *connection) bool {
		entry, _, _ := s.server.Replica(conn.replica)
		return conn.leaving || entry.Hop != m.Node
	}, out)
}

// maxKey is the maximum length of a client's key in bytes. A longer key is not sent to the other node.
const maxKey = 2048

// withHolder returns the configuration of a tenant's connection to another node. Headers in all its requests name the tenant's
// principal and, if that node has the connection of the tenant's client, the client. What these headers do not name, each call names
// in headers of its own.
func withHolder(conn *connection, entry config.Server) config.Server {
	if entry.Hop == "" || conn.tenant == nil {
		return entry
	}
	headers := map[string]string{}
	if conn.tenant.Who != "" {
		headers[protocol.HeaderNodeHolder] = conn.tenant.Who
	}
	if client := conn.tenant.Client; conn.node != "" && client != "" && len(client) <= maxKey {
		headers[protocol.HeaderNodeKey] = protocol.EncodeHeaderValue(client)
	}
	if len(headers) > 0 {
		maps.Copy(headers, entry.Headers)
		entry.Headers = headers
	}
	return entry
}

// warnHopEvery is the time between two warnings about the same failure of a connection to another node.
const warnHopEvery = time.Minute

// unavailableLevel returns the level at which a failure is logged. Attempts to reach another node follow each other so quickly that equal
// failures are debug messages in between.
func (s *state) unavailableLevel(now time.Time, conn *connection, was message.Phase, detail string) slog.Level {
	a := &conn.attempts
	if was != message.Ready && a.warned == detail && now.Sub(a.warnedAt) < warnHopEvery && s.settingsOf(conn).Hop != "" {
		return slog.LevelDebug
	}
	a.warned, a.warnedAt = detail, now
	return slog.LevelWarn
}

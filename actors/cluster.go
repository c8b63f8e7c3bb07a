package actors

import (
	"context"
	"net"

	"goblin-actor/actors/membership"
	"goblin-actor/actors/message"
	"goblin-actor/actors/pool"
	"goblin-actor/actors/session"
	"goblin-actor/internal/cluster"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/upstream"
)

// Cluster makes a gateway a node of a cluster: several gateways with one configuration behind one address. Its session ids
// say which node has opened the session, and contain what the other nodes need to serve most of its requests.
type Cluster struct {
	Name    string // of the cluster
	Node    string // name of this node, as in the audit log
	Address string // where this node accepts requests of other nodes, as host:port
	Secrets *cluster.Secrets
	Members *cluster.Members // the members. The gateway updates them if there is a Bus
	Relay   Relay

	Dial           func(ctx context.Context, node string) (net.Conn, error) // opens a connection to another node, by its name; nil = no server runs on another node
	Bus            Bus                                                      // connects the nodes; nil = the members are fixed
	Rates          membership.Rates                                         // request rates, which all nodes share; nil = each node has its own
	Revoked        func(holders map[string]bool)                            // called with all holders whose keys a node has revoked, one call at a time; may block; nil = not called
	Fence          func(server string) upstream.Fence                       // returns the fence of a server with run: one; nil = there are no such servers
	Logins         LoginRecords                                             // keep the logins of servers that several nodes use; nil = each node has its own
	NewIncarnation func() string                                            // returns a random incarnation; nil = cluster.NewIncarnation
}

// Relay passes requests on to other nodes, which handle them with their Relayed handlers. Its methods do not block. If the request was
// not executed, the Relay calls again.Do, or answers the client if Do is nil. The request's Origin has the principal that this node has
// admitted.
type Relay interface {
	Post(incarnation string, x *downstream.Exchange, again cluster.Retry)
	Open(incarnation string, s *downstream.EventStream, again cluster.Retry)
	Delete(incarnation string, x *downstream.Exchange, again cluster.Retry)
}

// clusterKeys gives the seal.Sealer of a node its keys.
type clusterKeys struct{ *Cluster }

// Current returns the incarnation of this node.
func (k clusterKeys) Current() string { return k.Members.Self() }

// StateKeys returns the keys with which a node seals requestStates.
func (k clusterKeys) StateKeys(incarnation string) [][32]byte {
	return k.Secrets.StateKeys(incarnation)
}

// TaskKeys returns the keys of the tags in task ids.
func (k clusterKeys) TaskKeys() [][32]byte { return k.Secrets.TaskKeys() }

// incarnation returns the present incarnation of this node, or "" if the gateway runs alone.
func (c *Cluster) incarnation() string {
	if c == nil {
		return ""
	}
	return c.Members.Self()
}

// nodeName returns the name of this node, or "" if the gateway runs alone.
func (c *Cluster) nodeName() string {
	if c == nil {
		return ""
	}
	return c.Node
}

// sessionID returns the id of a session that starts. A session that another node has opened keeps its id.
func (g *gateway) sessionID(a *startSession) (string, error) {
	switch {
	case g.cluster == nil || a.stdio != nil || a.first.Behalf != nil: // no other node serves the session of a node
		return session.NewID(), nil
	case a.first.Facts != nil:
		return a.first.SessionID(), nil
	case a.first.Stream != nil: // all messages of its client are passed to this node, so the id need not say more
		return g.cluster.Secrets.SealSession(g.cluster.Members.Self(), &cluster.SessionFacts{Holder: a.first.Principal()})
	}
	return g.cluster.Secrets.SealSession(g.cluster.Members.Self(), session.FactsOf(a.first.Exchange, &a.first.Admitted))
}

// NodeJoined tells the gateway that a node is now a member of the cluster. Servers that run there are used again at once.
func (g *Gateway) NodeJoined(node string) { g.self.Tell(message.NodeJoined{Node: node}) }

// NodesChanged tells the gateway that the members of the cluster have changed.
func (g *Gateway) NodesChanged(view *cluster.View) { g.self.Tell(message.NodesChanged{View: view}) }

// poolHops returns how pools reach servers on other nodes.
func (g *Gateway) poolHops() pool.Hops {
	c := g.cluster
	if c == nil {
		return pool.Hops{}
	}
	return pool.Hops{Node: c.Node, Dial: c.Dial, Members: c.Members, Fence: c.Fence, Nodes: g.membership}
}

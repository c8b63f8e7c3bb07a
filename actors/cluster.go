package actors

import (
	"goblin-actor/actors/session"
	"goblin-actor/internal/cluster"
	"goblin-actor/protocol/downstream"
)

// Cluster makes a gateway a node of a cluster: several gateways with one configuration behind one address. Its session ids
// say which node has opened the session, and contain what the other nodes need to serve most of its requests.
type Cluster struct {
	Node        string // name of this node, as in the audit log
	Secrets     *cluster.Secrets
	Incarnation string // of this node
	Relay       Relay
}

// Relay passes requests on to other nodes, which handle them with their Relayed handlers. Its methods do not block, and
// answer the client if the node cannot be reached. The principal is that of the request's Origin, admitted by this node.
type Relay interface {
	Post(incarnation string, x *downstream.Exchange)
	Open(incarnation string, s *downstream.EventStream)
	Delete(incarnation string, x *downstream.Exchange)
}

// clusterKeys gives the seal.Sealer of a node its keys.
type clusterKeys struct{ *Cluster }

// Current returns the incarnation of this node.
func (k clusterKeys) Current() string { return k.Incarnation }

// StateKeys returns the keys with which a node seals requestStates.
func (k clusterKeys) StateKeys(incarnation string) [][32]byte {
	return k.Secrets.StateKeys(incarnation)
}

// TaskKeys returns the keys of the tags in task ids.
func (k clusterKeys) TaskKeys() [][32]byte { return k.Secrets.TaskKeys() }

// incarnation returns the incarnation of this node, or "" if the gateway runs alone.
func (c *Cluster) incarnation() string {
	if c == nil {
		return ""
	}
	return c.Incarnation
}

// nodeName returns the name of this node, or "" if the gateway runs alone.
func (c *Cluster) nodeName() string {
	if c == nil {
		return ""
	}
	return c.Node
}

// sessionID returns the id of a session that starts. The id of a guest is that of the session which another node has opened.
func (g *gateway) sessionID(a *startSession) (string, error) {
	switch {
	case g.cluster == nil || a.stdio != nil:
		return session.NewID(), nil
	case a.first.Guest != nil:
		return a.first.Exchange.Origin.SessionID, nil
	case a.first.Stream != nil: // all messages of its client are passed to this node, so the id need not say more
		return g.cluster.Secrets.SealSession(g.cluster.Incarnation, &cluster.SessionFacts{Holder: a.first.Principal()})
	}
	return g.cluster.Secrets.SealSession(g.cluster.Incarnation, session.FactsOf(a.first.Exchange, &a.first.Admitted))
}

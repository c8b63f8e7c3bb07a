package message

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/cluster"
)

// Heard is a message of another node of the cluster, or of this one, as the bus delivers it. A node whose mailbox is full
// drops it: nodes repeat what they tell each other, apart from hints, which may get lost.
type Heard struct {
	Subject string
	Payload []byte
}

// NodeQuery is a query of another node of the cluster (cluster.Query). Reply does not block and is called at most once.
type NodeQuery struct {
	Payload []byte
	Reply   func(answer []byte)
}

// NodeRefused reports that a node of the cluster has refused a connection. The node is given up if nothing else answers
// in its name.
type NodeRefused struct{ Incarnation string }

// Class is State: reports about one node are merged.
func (NodeRefused) Class() kernel.Class { return kernel.State }

// Key implements kernel.Keyed.
func (m NodeRefused) Key() any { return m }

// NodeFacts are what a node tells the others about itself.
type NodeFacts struct {
	Config string // digest of what must be equal in the configurations of all nodes
	Keys   string // digest of the key file
}

// Class is State: only the newest facts count.
func (NodeFacts) Class() kernel.Class { return kernel.State }

// JoinCluster makes the membership actor take part in the cluster. Until then it tells the other nodes and the gateway
// nothing.
type JoinCluster struct{}

// Class is Outcome: it is sent once.
func (JoinCluster) Class() kernel.Class { return kernel.Outcome }

// DrainNode says that this node stops soon.
type DrainNode struct{}

// Class is Outcome: it is sent once.
func (DrainNode) Class() kernel.Class { return kernel.Outcome }

// RevokeHolders tells all nodes of the cluster that the keys of these holders are revoked, because the key file of this
// node no longer contains them.
type RevokeHolders struct{ Holders []string }

// Class is Outcome: each change of the key file sends one.
func (RevokeHolders) Class() kernel.Class { return kernel.Outcome }

// RestoreHolders tells all nodes of the cluster that the key file of this node has the keys of these holders again. It has
// no effect for keys that are not revoked.
type RestoreHolders struct{ Holders []string }

// Class is Outcome: each change of the key file sends one.
func (RestoreHolders) Class() kernel.Class { return kernel.Outcome }

// TellNodes sends a hint to the other nodes of the cluster. The membership actor sets the members Cluster and From. If too
// many hints are sent, it is dropped: hints may get lost.
type TellNodes struct{ Hint cluster.Hint }

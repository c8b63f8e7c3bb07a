package status

import "time"

// Node is a node of the cluster, as the node that is asked sees it.
type Node struct {
	Name        string    `json:"name"`
	Incarnation string    `json:"incarnation"`
	Address     string    `json:"address,omitempty"` // where it accepts requests of other nodes
	Version     string    `json:"version,omitempty"` // of its program
	Self        bool      `json:"self,omitempty"`    // the node that is asked
	State       NodeState `json:"state"`
	LastBeat    time.Time `json:"lastBeat,omitzero"`  // when it was last heard, to the second; zero = this node itself
	Warnings    []string  `json:"warnings,omitempty"` // what an operator should know
}

// NodeState is the state of a node.
type NodeState string

// The states of a node.
const (
	NodeMember   NodeState = "member"
	NodeJoining  NodeState = "joining"  // a member that is not ready yet
	NodeDraining NodeState = "draining" // a member that stops soon
	NodeOutside  NodeState = "outside"  // not a member; the warnings say why
	NodeGone     NodeState = "gone"     // given up, and not back yet
)

// IsMember reports whether the node is a member of the cluster.
func (n *Node) IsMember() bool {
	return n.State == NodeMember || n.State == NodeJoining || n.State == NodeDraining
}

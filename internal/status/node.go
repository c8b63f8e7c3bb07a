package status

import (
	"context"
	"sync"
	"time"
)

// Node is a node of the cluster, as seen by the gateway that reports it.
type Node struct {
	Name        string    `json:"name"`
	Incarnation string    `json:"incarnation"`
	Address     string    `json:"address,omitempty"` // where it accepts requests of other nodes
	Version     string    `json:"version,omitempty"` // of its program
	Self        bool      `json:"self,omitempty"`    // the gateway that reports it
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
	NodeGone     NodeState = "gone"     // no longer a member, because it was not heard for too long; not back yet
)

// IsMember reports whether the node is a member of the cluster.
func (n *Node) IsMember() bool {
	return n.State == NodeMember || n.State == NodeJoining || n.State == NodeDraining
}

// NodeReport is a node of the cluster, as seen by the gateway that reports it, and the node's report about itself.
type NodeReport struct {
	Node
	Activity
	Fault string `json:"fault,omitempty"` // why the node's Activity is unknown, and zero; "" = it is known
}

// Activity is a node's report about itself.
type Activity struct {
	Started  time.Time `json:"started,omitzero"`
	Ready    int       `json:"ready"` // servers with a ready connection
	Servers  int       `json:"servers"`
	Sessions int       `json:"sessions"`
	Calls    int       `json:"calls"` // in flight
}

// ActivityOf returns the Activity of the gateway that a Snapshot describes.
func ActivityOf(s *Snapshot) Activity {
	a := Activity{Started: s.Started, Servers: len(s.Servers), Sessions: len(s.Sessions), Calls: len(s.Calls)}
	for i := range s.Servers {
		if s.Servers[i].ReadyCount > 0 {
			a.Ready++
		}
	}
	return a
}

// Nodes implements Source.
func (l Local) Nodes(ctx context.Context) ([]NodeReport, error) {
	s, err := l.Status(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]NodeReport, len(s.Nodes))
	var all sync.WaitGroup
	for i, n := range s.Nodes {
		list[i].Node = n
		switch {
		case n.Self:
			list[i].Activity = ActivityOf(s)
		case !n.IsMember():
			list[i].Fault = "not a member"
		case l.AskNode == nil:
			list[i].Fault = "this gateway does not ask other nodes"
		default:
			all.Go(func() { list[i].ask(ctx, l.AskNode) })
		}
	}
	all.Wait()
	return without(list, l.Known), nil
}

// nodeTime limits how long Nodes waits for the other nodes. It asks all of them at the same time.
const nodeTime = 300 * time.Millisecond

func (r *NodeReport) ask(ctx context.Context, ask func(ctx context.Context, node string) (Activity, error)) {
	ctx, cancel := context.WithTimeout(ctx, nodeTime)
	defer cancel()
	a, err := ask(ctx, r.Name)
	if err != nil {
		r.Fault = err.Error()
		return
	}
	r.Activity = a
}

package node

import (
	"context"
	"errors"
	"fmt"
	"net"

	"goblin-actor/internal/cluster"
	"goblin-actor/internal/relay"
)

// tellJoined tells the gateway of the new members, and of each node that is a member under a new incarnation or is ready now, also of this one:
// members of groups that run here are reached like those of other nodes.
func (n *Node) tellJoined(before, after *cluster.View) {
	g := n.gateway.Load()
	if g == nil {
		return
	}
	g.NodesChanged(after)
	for i := range after.Members {
		m := &after.Members[i]
		if was := before.Member(m.Incarnation); was == nil || was.Joining && !m.Joining {
			g.NodeJoined(m.Node)
		}
	}
}

// errNoHolder is the error of a connection to a server with run: one that no node runs.
var errNoHolder = errors.New("no node runs the server now; a node takes it over in about 15 s, if more than half of the voters run")

// errNotMember is the error of a connection from this node to a member of a group that it runs itself.
var errNotMember = errors.New("this node is not a member of the cluster yet, or not any more; see goblin-actor status")

// dial opens a connection to another node, for requests to the servers that run there. It implements actors.Cluster.Dial.
func (n *Node) dial(ctx context.Context, node string) (net.Conn, error) {
	if node == noNode {
		return nil, errNoHolder
	}
	m := n.members.View().Named(node)
	if m == nil && node == n.of.Node {
		return nil, errNotMember
	}
	if m == nil {
		return nil, fmt.Errorf("node %s is not a member of the cluster; start it, or set run to another node", node)
	}
	conn, err := n.relay.Dial(ctx, relay.Target{Node: m.Node, Address: m.Address})
	if err != nil {
		if !errors.Is(err, context.Canceled) && node != n.of.Node {
			n.unreached(m.Incarnation)
		}
		return nil, fmt.Errorf("node %s of the cluster cannot be reached: %w", node, err)
	}
	return conn, nil
}

package node

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"goblin-actor/internal/admin"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/status"
)

// adminTime limits how long a connection to the admin interface of another node takes.
const adminTime = 3 * time.Second

// ServeAdmin serves the admin interface to other nodes until Stop. It does nothing if n is nil.
func (n *Node) ServeAdmin(src status.Source, user status.UseFunc, log *slog.Logger, more ...admin.Route) {
	if n != nil {
		n.admin.Store(admin.ServeNodes(src, user, log, more...))
	}
}

// upgrade serves the admin interface on connections of other nodes, as a downstream.Upgrade.
func (n *Node) upgrade(path, protocol string) func(net.Conn) {
	if server := n.admin.Load(); server != nil {
		return server.Upgrade(path, protocol)
	}
	return nil
}

// AdminDialer returns the function that connects to the admin interfaces of other nodes. It returns nil if n is nil.
func (n *Node) AdminDialer() admin.DialNode {
	if n == nil {
		return nil
	}
	return n.dialAdmin
}

// dialAdmin is an admin.DialNode.
func (n *Node) dialAdmin(ctx context.Context, node string) (net.Conn, error) {
	view := n.members.View()
	m := view.Named(node)
	if m == nil {
		return nil, fmt.Errorf("node %q: %w among the members of the cluster, which are %s", node, status.ErrNotThere, nodeNames(view))
	}
	ctx, cancel := context.WithTimeout(ctx, adminTime)
	defer cancel()
	config := n.security.NodeTLS().Clone()
	config.ServerName = node
	c, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", m.Address)
	if err != nil {
		return nil, fmt.Errorf("connect to node %s: %w", node, err)
	}
	if err := admin.Connect(ctx, c, node); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("connect to the admin interface of node %s: %w", node, err)
	}
	return c, nil
}

func nodeNames(view *cluster.View) string {
	names := make([]string, len(view.Members))
	for i := range view.Members {
		names[i] = view.Members[i].Node
	}
	return strings.Join(names, ", ")
}

// Package node makes a gateway a node of a cluster: it connects the gateway with the bus, with the relay, and with a listener
// for other nodes. Only goblin-actor serve does so.
//
//	n, err := node.Start(cfg, security, statePath, budget, log) // nil without the section cluster
//	defer n.Stop()
//	g, err := actors.Start(cfg, actors.Options{Budget: budget, Cluster: n.Options()})
//	n.Serve(g, cfg)
package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"goblin-actor/actors"
	"goblin-actor/internal/admin"
	"goblin-actor/internal/bus"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/config"
	"goblin-actor/internal/relay"
	"goblin-actor/internal/serving"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/stream"
)

// Node makes a gateway a node of a cluster. It holds the connections to the other nodes: the bus, the relay, and the server
// for their requests.
type Node struct {
	of       config.Cluster    // as configured at the start, with complete addresses
	security *serving.Security // has the secrets of the cluster, and the certificate of this node
	members  *cluster.Members
	listener net.Listener
	bus      bus.Bus
	relay    *relay.Relay
	server   *downstream.Server // nil before Serve
	gateway  atomic.Pointer[actors.Gateway]
	admin    atomic.Pointer[admin.NodeServer] // nil before ServeAdmin
	leases   *leases
	written  []config.Server // the servers of the newest configuration, before they were placed
	log      *slog.Logger
}

// addressTime limits how long Start looks up names to find the address of this machine.
const addressTime = 5 * time.Second

// Start connects to the other nodes and listens for them, but serves none of their requests before Serve. It returns nil
// if the configuration has no section cluster. state is the path of the state file; "" = there is none. budget is that of the
// gateway. The caller must call Stop. Start changes the servers in cfg that other nodes run, and marks those that cannot run in a
// cluster.
func Start(cfg *config.Config, e *serving.Security, state string, budget *stream.Budget, log *slog.Logger) (*Node, error) {
	if !cfg.Cluster.Present {
		return nil, nil
	}
	n := &Node{of: cfg.Cluster, security: e, members: cluster.NewMembers(cluster.NewIncarnation()), log: log}
	if err := n.connect(cfg, state, budget); err != nil {
		n.Stop()
		return nil, fmt.Errorf("join the cluster: %w", err)
	}
	n.leases = newLeases(n.of.Node, n.bus.Records(), log)
	n.place(cfg)
	return n, nil
}

func (n *Node) connect(cfg *config.Config, state string, budget *stream.Budget) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), addressTime)
	defer cancel()
	if n.of.Listen, n.of.Routes, err = cfg.Cluster.Addresses(ctx); err != nil {
		return err
	}
	if n.listener, err = net.Listen("tcp", n.of.Listen); err != nil {
		return fmt.Errorf("listen for other nodes: %w", err)
	}
	if n.bus, err = n.openBus(cfg, state); err != nil {
		return err
	}
	n.relay = relay.New(relay.Options{
		TLS: n.security.NodeTLS, MaxMessageBytes: int(cfg.Limits.MaxMessageBytes), Budget: budget, Log: n.log, Unreached: n.unreached,
		Resolve: func(incarnation string) (relay.Target, bool) {
			node, address, ok := n.members.Resolve(incarnation)
			return relay.Target{Node: node, Address: address}, ok
		},
	})
	n.members.Watch(n.membersChanged)
	return nil
}

// unreached reports a node that may be gone.
func (n *Node) unreached(incarnation string) {
	if g := n.gateway.Load(); g != nil {
		g.NodeRefused(incarnation)
	}
}

// membersChanged ends what was passed on to processes that are no longer members, and tells the gateway of nodes that have joined.
func (n *Node) membersChanged(before, after *cluster.View) {
	for i := range before.Members {
		m := &before.Members[i]
		for _, incarnation := range append([]string{m.Incarnation}, m.Former...) {
			if after.Resolve(incarnation) == nil {
				n.relay.Lost(incarnation)
			}
		}
	}
	defer n.tellJoined(before, after)
	n.relay.Forget(func(t relay.Target) bool {
		return slices.ContainsFunc(after.Members, func(m cluster.Member) bool { return m.Node == t.Node && m.Address == t.Address })
	})
}

func (n *Node) openBus(cfg *config.Config, state string) (bus.Bus, error) {
	if nats := n.of.NATS; nats.On() {
		e := bus.External{Cluster: n.of.Name, Node: n.of.Node, URL: strings.Join(nats.URLs, ","), Log: n.log}
		if nats.Credentials != "" {
			e.Credentials = cfg.Beside(nats.Credentials)
		}
		return bus.Connect(e)
	}
	o := bus.Options{Cluster: n.of.Name, Node: n.of.Node, Routes: n.of.Routes, Seeds: n.of.Seeds, TLS: n.security.NodeTLS, Voters: n.of.Voters, Log: n.log}
	if state != "" {
		o.Store = filepath.Join(filepath.Dir(state), "cluster-"+n.of.Name)
	}
	return bus.Start(o)
}

// Options returns what the gateway needs to be the node. It returns nil if n is nil.
func (n *Node) Options() *actors.Cluster {
	if n == nil {
		return nil
	}
	c := &actors.Cluster{
		Name: n.of.Name, Node: n.of.Node, Address: n.listener.Addr().String(), Secrets: n.security.ClusterSecrets(), Members: n.members, Relay: n.relay, Dial: n.dial, Fence: n.leases.fence, Bus: nodeBus{n.bus},
	}
	if n.of.Records() {
		c.Logins = loginRecords{n.bus.Records()}
	}
	n.security.Join(c)
	return c
}

// Serve begins to serve the requests of other nodes. It does nothing if n is nil.
func (n *Node) Serve(g *actors.Gateway, cfg *config.Config) {
	if n == nil {
		return
	}
	n.gateway.Store(g)
	n.server = relay.NewServer(g.Relayed(), relay.ServerOptions{
		Node: n.of.Node, TLS: n.security.NodeTLS, Keys: n.security.Admission(), MaxMessageBytes: int(cfg.Limits.MaxMessageBytes), Budget: g.Budget(), TraceHeaders: g.Traced(), Upgrade: n.upgrade, Log: n.log,
	})
	n.server.SetForwarded(cfg.Forwarded())
	go func() {
		if err := n.server.Serve(n.listener); err != nil {
			n.log.Error("the listener for other nodes of the cluster has failed; restart this gateway", "err", err)
		}
	}()
}

// Apply applies a new configuration, whose secrets and certificate serving.Security has read. It does nothing if n is nil.
func (n *Node) Apply(cfg *config.Config) {
	if n != nil {
		n.place(cfg)
		n.leases.configure(n.written)
		n.server.SetForwarded(cfg.Forwarded())
	}
}

// place prepares the servers in cfg for this node, and keeps a copy of the servers as they were in written.
func (n *Node) place(cfg *config.Config) {
	n.written = slices.Clone(cfg.Servers)
	place(cfg, n.of.Node, n.leases.holder)
}

// Follow makes r give this node the configurations that it reads, and begins to take the leases of servers. Whenever a server moves
// between nodes, it makes r apply the configuration again, until Stop. When ctx ends, this node takes no more leases: it stops soon.
// Follow does nothing if n is nil.
func (n *Node) Follow(ctx context.Context, r *serving.Reloader) {
	if n == nil {
		return
	}
	r.Applied = n.Apply
	n.leases.configure(n.written)
	go func() {
		for {
			select {
			case <-n.leases.changed:
			case <-ctx.Done():
				n.leases.leave()
				return
			}
			err := r.Refresh(ctx, func(cfg *config.Config) {
				cfg.Servers = slices.Clone(n.written)
				place(cfg, n.of.Node, n.leases.holder)
				n.server.SetForwarded(cfg.Forwarded())
			})
			if err != nil && ctx.Err() == nil {
				n.log.Warn("a server could not be moved between nodes yet", "err", err)
			}
		}
	}()
}

// lastRequests is how long a node that stops still passes on requests of connections that were opened before it stopped listening.
const lastRequests = 200 * time.Millisecond

// Finish stops listening for clients, and passes the last of their requests on to other nodes. It blocks until all requests that were
// passed on are answered, at most for about limit. It does nothing if n is nil.
func (n *Node) Finish(clients *downstream.Server, limit time.Duration) {
	if n == nil {
		return
	}
	clients.StopListening()
	time.Sleep(lastRequests)
	for end := time.Now().Add(limit); n.relay.Stats().Requests > 0 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
}

// stopTime limits how long Stop waits for requests that other nodes have passed on. The gateway has answered them before.
const stopTime = time.Second

// Stop ends all connections to the other nodes. It does nothing if n is nil.
func (n *Node) Stop() {
	if n == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	switch {
	case n.server != nil:
		_ = n.server.Shutdown(ctx) // the error says that connections were cut
	case n.listener != nil:
		_ = n.listener.Close()
	}
	if server := n.admin.Load(); server != nil {
		server.Close()
	}
	if n.leases != nil {
		n.leases.stop()
	}
	if n.relay != nil {
		n.relay.Close()
	}
	if n.bus != nil {
		n.bus.Close()
	}
}

// nodeBus is a bus.Bus as the gateway uses it.
type nodeBus struct{ bus.Bus }

// Subscribe implements actors.Bus.
func (b nodeBus) Subscribe(subject string, handle func(payload []byte, answer func([]byte))) (cancel func(), err error) {
	return b.Bus.Subscribe(subject, func(m bus.Message) { handle(m.Payload, m.Answer) })
}

// Ask implements actors.Bus.
func (b nodeBus) Ask(ctx context.Context, subject string, question []byte) ([]byte, error) {
	answer, err := b.Bus.Ask(ctx, subject, question)
	if errors.Is(err, bus.ErrNoListener) {
		err = actors.ErrNoNode
	}
	return answer, err
}

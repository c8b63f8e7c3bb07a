package actors

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/membership"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
)

// ErrNoNode is returned by Bus.Ask if no node listens to the subject.
var ErrNoNode = membership.ErrNoNode

// Bus connects the nodes of a cluster. Its methods are safe for concurrent use. Only Ask waits for other nodes.
type Bus interface {
	// Publish sends a message to all nodes that listen to the subject. It may get lost.
	Publish(subject string, payload []byte)
	// Subscribe calls handle for each message to the subject. handle must not block. answer answers a question, and has no
	// effect for other messages. Calls may still be in progress when cancel returns.
	Subscribe(subject string, handle func(payload []byte, answer func([]byte))) (cancel func(), err error)
	// Ask sends a question to the nodes that listen to the subject and returns the first answer. It blocks until then or
	// until ctx ends. If no node listens, the error is ErrNoNode.
	Ask(ctx context.Context, subject string, question []byte) ([]byte, error)
}

// memberBus connects the membership actor with the bus.
type memberBus struct {
	Bus
	log     *slog.Logger
	mu      sync.Mutex
	note    func(payload []byte, answer func([]byte))
	cancels []func() // end the subscriptions to messages
	queries func()   // ends the subscriptions to queries and notes; nil = there are none
	closed  bool
}

// hear passes the messages to a subject on to the actor, until close.
func (b *memberBus) hear(subject string, to kernel.Reference) error {
	cancel, err := b.Subscribe(subject, func(payload []byte, _ func([]byte)) {
		to.Tell(message.Heard{Subject: subject, Payload: payload})
	})
	if err != nil {
		return err
	}
	b.keep(cancel)
	return nil
}

// keep registers the function that ends a subscription, which close calls.
func (b *memberBus) keep(cancel func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cancels = append(b.cancels, cancel)
}

// close ends all subscriptions.
func (b *memberBus) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, cancel := range b.cancels {
		cancel()
	}
	if b.queries != nil {
		b.queries()
	}
	b.cancels, b.queries, b.closed = nil, nil, true
}

// Serve implements membership.Bus.
func (b *memberBus) Serve(incarnation string, to kernel.Reference) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	if b.queries != nil {
		b.queries()
		b.queries = nil
	}
	cancel, err := b.Subscribe(cluster.SubjectOf(incarnation), func(payload []byte, answer func([]byte)) {
		to.Tell(message.NodeQuery{Payload: payload, Reply: answer})
	})
	if err != nil {
		b.log.Error("cannot receive queries from other nodes of the cluster", "error", err)
		return
	}
	cancelNotes, err := b.Subscribe(cluster.SubjectOfNotes(incarnation), b.note)
	if err != nil {
		b.log.Error("cannot receive notes from other nodes; sessions that move to this node lose their subscriptions", "error", err)
		cancelNotes = func() {}
	}
	b.queries = func() { cancel(); cancelNotes() }
}

// startMembership spawns the actor that knows the members of the cluster, if they are not fixed. It takes no part in the
// cluster before joinCluster, but the other actors of the gateway may send it messages.
func (g *Gateway) startMembership(o *Options) {
	c := o.Cluster
	if c == nil || c.Bus == nil {
		return
	}
	g.bus = &memberBus{Bus: c.Bus, log: g.log, note: g.heardNote}
	g.membership = membership.Spawn(g.system, membership.Options{
		Cluster: c.Name, Node: c.Node, Address: c.Address, Version: o.Version, Incarnation: c.Members.Self(),
		Bus: g.bus, Rates: c.Rates, NewIncarnation: c.NewIncarnation, Changed: g.setMembers, Revoked: c.Revoked, Hint: g.heardHint, Session: g.answerGuest, ListEnded: g.listEnded, Ended: g.heardEnded, ListCatalogs: g.listCatalogs, Catalog: g.heardCatalog, ShowCatalogs: g.showCatalogs,
		CatalogsChanged: g.peerCatalogsChanged, Log: o.Log,
	})
}

// joinCluster makes the membership actor hear the other nodes.
func (g *Gateway) joinCluster() error {
	if g.bus == nil {
		return nil
	}
	for _, subject := range []string{cluster.SubjectBeat, cluster.SubjectVerdict, cluster.SubjectRevoked, cluster.SubjectHint} {
		if err := g.bus.hear(subject, g.membership); err != nil {
			return fmt.Errorf("join the cluster: %w", err)
		}
	}
	g.membership.Tell(message.JoinCluster{})
	return g.startWitnessing(g.bus)
}

// setMembers publishes a new view of the members. Sessions may have another home in it.
func (g *Gateway) setMembers(v *cluster.View) {
	g.cluster.Members.Set(v)
	g.self.Tell(message.MembersChanged{View: v})
}

// tellMembership sends a message to the membership actor, if there is one.
func (g *Gateway) tellMembership(msg any) {
	if !g.membership.IsZero() {
		g.membership.Tell(msg)
	}
}

// NodeRefused reports that a node of the cluster has refused a connection. If no process answers for it, it is given up.
func (g *Gateway) NodeRefused(incarnation string) {
	g.tellMembership(message.NodeRefused{Incarnation: incarnation})
}

// NodeFacts sets what this node tells the other nodes of the cluster, for a warning if they differ: the digests of its
// configuration and of its key file.
func (g *Gateway) NodeFacts(config, keys string) {
	g.tellMembership(message.NodeFacts{Config: config, Keys: keys})
}

// RevokeHolders tells all nodes of the cluster that this node's key file has lost the keys of these holders. All nodes refuse
// the keys, and end the sessions and streams of the holders.
func (g *Gateway) RevokeHolders(holders []string) {
	g.tellMembership(message.RevokeHolders{Holders: holders})
}

// RestoreHolders tells all nodes of the cluster that this node's key file has the keys of these holders again. It has no
// effect on keys that are not revoked.
func (g *Gateway) RestoreHolders(holders []string) {
	g.tellMembership(message.RestoreHolders{Holders: holders})
}

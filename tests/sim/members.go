package sim

import (
	"context"
	"errors"
	"time"

	"goblin-actor/actors"
	"goblin-actor/internal/bus"
	"goblin-actor/internal/bus/fabric"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol/downstream"
)

// clusterName is the name of every cluster.
const clusterName = "sim"

// joinTime is how long nodes need to find each other.
const joinTime = 3 * time.Second

// nodeBus is a bus as the gateway uses it.
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

// resolve returns the node that has or had the incarnation, as far as n knows, or nil if n knows of none.
func (n *node) resolve(incarnation string) *node {
	if n.bus == nil {
		return n.w.nodeOf(incarnation)
	}
	name, _, ok := n.members.Resolve(incarnation)
	if !ok {
		return nil
	}
	for _, other := range n.w.nodes {
		if other.name == name {
			return other
		}
	}
	return nil
}

// informed returns the node at which a client's requests know of the events of its session: of its end, its log level, and canceled
// calls. Without a bus, the nodes cannot tell each other. nil = every node knows.
func (c *client) informed() *node {
	if !c.w.isCluster() || c.w.p.Bus {
		return nil
	}
	return c.home()
}

// awaitMembers waits until the nodes that have started know each other. Until then, a balancer sends them nothing.
func (w *world) awaitMembers() {
	if !w.p.Bus {
		return
	}
	w.advance(joinTime)
	w.checkMembers("after the start")
}

// checkMembers checks that all nodes know all members. No node may have left or stalled.
func (w *world) checkMembers(when string) {
	if !w.p.Bus {
		return
	}
	for _, n := range w.nodes {
		view := n.members.View()
		if len(view.Former) > 0 {
			n.violated("%s: it was given up, although it works: former incarnations %v", when, view.Former)
		}
		if len(view.Members) != len(w.nodes) || !view.Ready() {
			n.violated("%s: it has the members %+v", when, view.Members)
			continue
		}
		for _, other := range w.nodes {
			if m := view.Member(other.members.Self()); m == nil || m.Node != other.name || m.Joining {
				n.violated("%s: it knows %s as %+v", when, other, m)
			}
		}
	}
}

// revocationTime is how long a revocation needs to reach all nodes.
const revocationTime = time.Second

// revokeAtOne revokes a principal by the key file of one node. The other nodes, whose files still have its key, hear of it.
func (w *world) revokeAtOne(who *identity.Principal) {
	n := w.nodes[w.clientRand.IntN(len(w.nodes))]
	w.count("a principal revoked by one node")
	n.gateway.UpdatePrincipals(map[string]*identity.Principal{who.ID: nil})
	n.gateway.RevokeHolders([]string{identity.HolderOf(who)})
	w.scheduler.After(revocationTime, func() {
		for _, other := range w.nodes {
			other.checkRefuses(who)
		}
	})
}

// revoke ends what belongs to holders that another node has revoked.
func (n *node) revoke(holders map[string]bool) {
	gone := map[string]*identity.Principal{}
	for name := range n.w.usage {
		if who := n.w.newPrincipal(name); holders[identity.HolderOf(who)] {
			gone[who.ID] = nil
		}
	}
	n.gateway.UpdatePrincipals(gone)
}

// checkRefuses checks that the node refuses a revoked principal.
func (n *node) checkRefuses(who *identity.Principal) {
	o := downstream.Origin{Path: "/mcp", Remote: "127.0.0.1:39998", Principal: who}
	n.w.transport.revoked[who.ID]++
	x, refused := n.pipe(func() {}).Post([]byte(initializeAsRevoked), o)
	if refused != nil {
		return // for lack of buffer space
	}
	if seen, ok := x.Next(); !ok || seen.Status != 401 {
		n.violated("it answered %s, who was revoked %v ago, with %d %s", who.ID, revocationTime, seen.Status, seen.Frame)
	}
	x.Leave()
}

const initializeAsRevoked = `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"r","version":"1"}}}`

// setNetwork makes the bus as unreliable as the story is. In the calm phase, nothing fails.
func (w *world) setNetwork() {
	switch {
	case !w.p.Bus:
	case w.calm:
		w.transport.fabric.SetFaults(fabric.Faults{})
	default:
		w.transport.fabric.SetFaults(fabric.Faults{Lost: w.p.Faults / 20, Reordered: w.p.Faults / 2, Slow: time.Duration(w.p.Faults) * time.Millisecond})
	}
}

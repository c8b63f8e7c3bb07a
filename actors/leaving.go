package actors

import (
	"context"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// A node of a cluster that stops first tells the others, which become the homes of its sessions, and it is not ready any more. It
// serves clients as before until balancers have noticed. Then it passes on to the other nodes whatever still arrives, and waits for
// its running calls.

// maxHandOff is how long a node that stops serves clients as before. It is half of shutdown.drain if that is shorter.
const maxHandOff = 5 * time.Second

// handOff makes the other nodes of the cluster take over. It returns at once if there is no other node that can. Otherwise it blocks
// until balancers should have noticed, or until ctx ends.
func (g *Gateway) handOff(ctx context.Context, drain time.Duration) {
	if g.membership.IsZero() {
		return
	}
	g.tellMembership(message.DrainNode{})
	defer g.leaving.Store(true)
	if drain <= 0 || g.cluster.Members.View().Other("") == nil {
		return
	}
	timer := time.NewTimer(min(drain/2, maxHandOff))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// passToOther passes a request that needs no particular node on to another one, if this node has just started or is about to stop.
// It returns false if this node must serve the request.
func (f front) passToOther(x *downstream.Exchange, attempts int) bool {
	if f.relayed || f.cluster == nil || x.Frame.Kind != protocol.KindRequest || !f.leaving.Load() && f.hasStarted() {
		return false
	}
	m := f.cluster.Members.View().Other(x.Origin.Remote)
	if m == nil {
		return false
	}
	f.cluster.Relay.Post(m.Incarnation, x, cluster.RetryOf(attempts, func() {
		if !f.passToOther(x, attempts+1) {
			message.RefuseFault(x, 503, message.SessionMoves)
		}
	}))
	return true
}

// hasStarted reports whether all stateless sessions run.
func (g *Gateway) hasStarted() bool {
	_, ok := g.statelessSession(g.statelessCount - 1)
	return ok
}

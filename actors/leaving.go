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

// maxHandOff is how long a node that stops serves clients as before. If half of shutdown.drain is shorter, that counts.
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

// anyNode is a request of a client that any node can serve.
type anyNode struct {
	front
	x        *downstream.Exchange
	admitted message.Admitted
	attempts int           // how often it was passed on
	serve    func(anyNode) // serves it here or at another node
}

// begin serves the request: at another node if this one has just started or is about to stop, otherwise with serve.
func (r anyNode) begin() {
	if r.cluster == nil || r.relayed || !r.leaving.Load() && r.hasStarted() || !r.pass() {
		r.serve(r)
	}
}

// pass passes the request on to another node. It returns false if there is none, after cluster.MaxAttempts, or if the message is not a
// request.
func (r anyNode) pass() bool {
	m := r.cluster.Members.View().Other(r.x.Origin.Remote)
	if m == nil || r.attempts >= cluster.MaxAttempts || r.x.Frame.Kind != protocol.KindRequest {
		return false
	}
	next := r
	next.attempts++
	r.cluster.Relay.Post(m.Incarnation, r.x, cluster.RetryOf(r.attempts, next.begin))
	return true
}

// passOn returns the function that passes the request on if no actor of this node accepts it. The function returns false if there is no
// other node. If another node has passed the request on to this one, the function makes that node decide again. passOn returns nil if
// only this node can serve the request.
func (r anyNode) passOn() message.PassOn {
	switch {
	case r.cluster == nil || r.admitted.Behalf != nil:
		return nil
	case r.relayed:
		return func() bool { message.RefuseFault(r.x, 421, misdirected); return true }
	}
	return r.pass
}

// hasStarted reports whether all stateless sessions run.
func (g *Gateway) hasStarted() bool {
	_, ok := g.statelessSession(g.statelessCount - 1)
	return ok
}

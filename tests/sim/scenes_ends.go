package sim

import (
	"context"
	"slices"
	"time"
)

// Each node of a cluster with a bus ends and is started again, while the balancer sends its requests to the others. In addition to
// the invariants of clusters:
//
//   - While a node stops, no request fails, also those that the balancer still sends to it.
//   - The sessions of a node that was stopped or killed go on at the other nodes, with their subscriptions: each client with a stream is
//     told once more that each of its resources may have changed.
//   - All nodes know each other again after each restart.

const (
	noticeTime = 2 * time.Second // until the balancer knows that a node stops
	moveTime   = 3 * time.Second // until the other nodes have taken over from a node that was killed
)

// sceneNodesEnd ends the nodes one after the other.
func (w *world) sceneNodesEnd() {
	if !w.p.Bus || slices.Contains(w.p.SkippedScenes, "nodes end") {
		return
	}
	for _, c := range w.clients {
		c.recover()
	}
	w.advance(time.Minute)
	w.outside(func(context.Context) { w.stopWatchers() })
	for _, n := range w.nodes {
		if w.failed() {
			return
		}
		w.endNode(n, w.clientRand.IntN(2) == 0)
	}
	w.startWatchers()
	w.advance(w.p.Limits.ParkedCall + time.Minute)
	w.checkQuiet("after the nodes were restarted")
}

// endNode kills or stops a node, checks that its sessions go on, and starts it again.
func (w *world) endNode(n *node, kill bool) {
	w.trace("— %s ends, killed: %v —", n, kill)
	moving := w.readyClients(func(c *client) bool { return !c.modern && c.home() == n && c.declares == 0 })
	wanted := w.movingSubscriptions(moving)
	began := w.history.moment()
	w.moving = true
	if kill {
		w.count("a scene: a killed node")
		w.balancer.without, n.dead = n, true
		w.transport.fabric.Kill(n.name)
		n.stopWithin(0)
	} else {
		w.count("a scene: a stopped node")
		w.stopUnderLoad(n, moving)
	}
	w.advance(moveTime)
	w.moving = false
	w.checkMoved(n, moving)
	w.advance(20 * time.Second)
	for s, c := range wanted {
		if c.stream != nil && s.updatedAt < began && !s.concurrent && !w.failed() {
			w.violated("%s was not told that a resource may have changed, although the home of its session ended", c.name)
		}
	}
	if w.failed() {
		return
	}
	before := w.beforeJoin(moving)
	n.start()
	w.publishPrincipals()
	for _, c := range w.clients {
		c.pipes[n.number] = n.pipe(c.resumeReads)
	}
	w.afterJoin(n, before)
	w.balancer.without = nil
	w.awaitMembers()
	for _, c := range w.clients {
		c.recover()
	}
	w.advance(time.Minute)
}

// movingSubscriptions returns the subscriptions of clients with a stream whose home is about to end. Those of servers to which headers are
// forwarded are lost, because the next home does not know the headers.
func (w *world) movingSubscriptions(clients []*client) map[*subscription]*client {
	found := map[*subscription]*client{}
	for _, c := range clients {
		for _, s := range w.servers {
			for _, uri := range s.uris {
				switch sub := c.subs[uri]; {
				case sub == nil:
				case s.ForwardsHeader:
					delete(c.subs, uri)
				case c.stream != nil && c.seesChangeOf(uri):
					found[sub] = c
				}
			}
		}
	}
	return found
}

// stopUnderLoad stops a node while clients ping and list. The balancer notices that the node stops after noticeTime.
func (w *world) stopUnderLoad(n *node, clients []*client) {
	var sent []*clientRequest
	for d := time.Duration(0); d < 2*noticeTime; d += 100 * time.Millisecond {
		w.scheduler.After(d, func() {
			for _, c := range clients {
				sent = append(sent, c.send("ping", "", ""), c.send("tools/list", "", ""))
			}
		})
	}
	w.scheduler.After(noticeTime, func() { w.balancer.without = n })
	n.stop()
	w.advance(2 * time.Second)
	for _, a := range sent {
		if a.answers != 1 || a.failed {
			w.violated("%s at %s got %d responses, %s %s, while %s stopped", a, a.node, a.answers, a.code, a.message, n)
			return
		}
	}
}

// checkMoved checks that the sessions of a node that has ended are served by all others.
func (w *world) checkMoved(ended *node, clients []*client) {
	for _, c := range clients {
		for _, n := range w.nodes {
			if n == ended || w.failed() {
				continue
			}
			var a *clientRequest
			w.at(n, func() { a = c.send("ping", "", "") })
			if w.awaitAnswer(a, 2*time.Second); a.answers != 1 || a.failed {
				w.violated("%s at %s got %d responses, %s %s, although its session has moved", a, n, a.answers, a.code, a.message)
			}
		}
	}
}

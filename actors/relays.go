package actors

import (
	"sync/atomic"

	"goblin-actor/internal/cluster"
	"goblin-actor/protocol/downstream"
)

// countedRelay counts what it passes on, for the metrics.
type countedRelay struct {
	Relay
	count *atomic.Uint64
}

func (r countedRelay) Post(incarnation string, x *downstream.Exchange, again cluster.Retry) {
	r.count.Add(1)
	r.Relay.Post(incarnation, x, again)
}

func (r countedRelay) Open(incarnation string, s *downstream.EventStream, again cluster.Retry) {
	r.count.Add(1)
	r.Relay.Open(incarnation, s, again)
}

func (r countedRelay) Delete(incarnation string, x *downstream.Exchange, again cluster.Retry) {
	r.count.Add(1)
	r.Relay.Delete(incarnation, x, again)
}

// countCluster makes the gateway count what it passes on to other nodes. It does nothing without a cluster.
func (g *Gateway) countCluster() {
	if g.cluster == nil {
		return
	}
	counts, c := g.metrics.Cluster(), *g.cluster
	counts.On.Store(true)
	c.Relay = countedRelay{c.Relay, &counts.Relays}
	g.cluster = &c
}

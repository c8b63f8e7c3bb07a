package status

import "sync/atomic"

// ClusterCounts counts what a node of a cluster does for sessions and servers of other nodes. It is safe for concurrent use.
type ClusterCounts struct {
	On           atomic.Bool   // the gateway is a node of a cluster
	Relays       atomic.Uint64 // requests and streams of sessions that were passed on to other nodes
	Hops         atomic.Uint64 // finished calls that other nodes executed
	Moved        atomic.Uint64 // sessions of other nodes whose home this node has become
	NotesRefused atomic.Uint64 // notes of other nodes for which there was no room
}

// Cluster returns the counters of the node.
func (m *Metrics) Cluster() *ClusterCounts { return &m.cluster }

func (c *ClusterCounts) writeTo(p *page) {
	if !c.On.Load() {
		return
	}
	p.single("goblin_cluster_relays_total", float64(c.Relays.Load()))
	p.single("goblin_cluster_hops_total", float64(c.Hops.Load()))
	p.single("goblin_cluster_moved_total", float64(c.Moved.Load()))
	p.single("goblin_cluster_notes_refused_total", float64(c.NotesRefused.Load()))
}

// Leases of servers with run: one, as in Server.Lease.
const (
	LeaseHere      = "here"
	LeaseElsewhere = "elsewhere"
)

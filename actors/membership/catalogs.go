package membership

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/protocol"
)

// ownCatalog sends the counters of this node's catalog to the other nodes.
func (s *state) ownCatalog(now time.Time, m message.OwnCatalogChanged, out []kernel.Effect) []kernel.Effect {
	s.generations = m.Generations
	return s.greet(now, out)
}

// compareCatalog compares the counters in a beat with those in the node's previous beat. If some differ, the clients of this
// node are notified. The first beat from a process is only recorded. But if that process has had an earlier incarnation, this node may
// have missed changes while it was cut off. Then its clients are notified, unless this node has just started.
func (s *state) compareCatalog(now time.Time, p *peer, b *cluster.Beat, out []kernel.Effect) []kernel.Effect {
	if p.beat.Seq == 0 && (len(b.Former) == 0 || now.Sub(s.join.started) < joinTime) {
		return out
	}
	var changed [protocol.ItemKinds]bool
	for kind := range changed {
		changed[kind] = generation(p.beat, kind) != generation(b, kind)
	}
	if changed == [protocol.ItemKinds]bool{} {
		return out
	}
	return append(out, kernel.Act(catalogsChanged{changed}))
}

// generation returns a counter of a beat. It is 0 if the beat has none.
func generation(b *cluster.Beat, kind int) uint64 {
	if kind >= len(b.Generations) {
		return 0
	}
	return b.Generations[kind]
}

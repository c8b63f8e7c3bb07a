package registry

import (
	"slices"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// In a cluster, a client may list the catalog of any node, also that of a node which has not heard of a change yet. So clients
// must be notified again when the catalog of another node has changed. Each node counts the changes of its catalog. The
// membership actors tell each other these counters.

// generations counts changes of the catalog of this node.
type generations struct {
	own   [protocol.ItemKinds]uint64 // changes of each kind
	peers [protocol.ItemKinds]bool   // another node's catalog has changed since the last snapshot
}

// peersChanged notifies the clients of changes at other nodes with the next snapshot.
func (s *state) peersChanged(m message.PeerCatalogsChanged) {
	for kind, changed := range m.Kinds {
		s.generations.peers[kind] = s.generations.peers[kind] || changed
		s.dirty = s.dirty || changed
	}
}

// build builds the next snapshot. A change at another node counts as if each server had announced a change, but not as a change
// of this node: otherwise nodes would notify each other forever.
func (s *state) build(out []kernel.Effect) []kernel.Effect {
	old := s.snapshot
	s.snapshot = catalog.Build(old, s.sources(), s.naming, s.projects...)
	if s.nodes.IsZero() {
		return out
	}
	out = s.countOwn(old, out)
	if s.generations.peers == [protocol.ItemKinds]bool{} {
		return out
	}
	sources := s.sources()
	for i := range sources {
		sources[i].Announced = s.generations.peers
	}
	s.generations.peers = [protocol.ItemKinds]bool{}
	s.snapshot = catalog.Build(s.snapshot, sources, s.naming, s.projects...)
	return out
}

// countOwn counts what has changed since old, and tells the other nodes.
func (s *state) countOwn(old *catalog.Snapshot, out []kernel.Effect) []kernel.Effect {
	if s.snapshot.Generation == old.Generation {
		return out
	}
	for kind := range s.generations.own {
		if s.snapshot.Generation[kind] != old.Generation[kind] {
			s.generations.own[kind]++
		}
	}
	return append(out, kernel.Tell(s.nodes, message.OwnCatalogChanged{Generations: slices.Clone(s.generations.own[:])}))
}

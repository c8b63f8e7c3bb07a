package catalog

import "goblin-actor/protocol"

// holdings has the items of one kind in the previous snapshot, whose public names are kept. An item keeps its public
// name as long as its server lists it and it requests the same name, whichever servers start later. nil = no names are
// kept: there is no previous snapshot, or the naming has changed.
type holdings map[ownName]*item

// holdings returns the items of a kind in the snapshot, or nil if their names cannot be kept under the given naming.
func (s *Snapshot) holdings(kind protocol.ItemKind, naming Naming) holdings {
	if s == nil || s.naming.Namespace != naming.Namespace || s.naming.URIStyle != naming.URIStyle {
		return nil
	}
	switch kind {
	case protocol.Tools, protocol.Prompts:
		return s.main.names[kind-protocol.Tools].owned
	case protocol.Resources:
		return s.main.resources.owned
	}
	return s.main.templates.owned
}

// of returns the item in the previous snapshot, or nil if it was missing, requested another name, or names are not
// kept. The parameter before is that item if it is already known: a lookup in a large table costs more than the rest of
// the item's processing.
func (h holdings) of(it, before *item) *item {
	if h == nil {
		return nil
	}
	old := before
	if old == nil {
		old = h[ownName{it.server.Name, it.own}]
	}
	if old == nil || old.own != it.own || old.want != it.want {
		return nil
	}
	return old
}

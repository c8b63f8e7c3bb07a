package catalog

import "goblin-actor/protocol"

// holdings maps the items of one kind to their public names in the previous snapshot. An item keeps its public name as
// long as its server lists it and it requests the same name, whichever servers start later. nil = no names to keep, or
// the naming has changed.
type holdings map[ownName]*item

// holdings returns the names of a kind's items in the snapshot.
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

// of returns the item in the previous snapshot, or nil if it was missing or requested another name. The parameter before is
// that item if it is already known: a lookup in a large table costs more than the rest of the item's processing.
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

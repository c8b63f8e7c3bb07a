package catalog

import "goblin-actor/protocol"

// holdings are the items of one kind by what their servers call them, with the names they had in the snapshot before. A public
// name stays with its item as long as its server has it, whichever server comes up later: clients know it. nil = nobody had
// any, or names were made in another way.
type holdings map[ownName]*item

// holdings returns what the items of a kind are called in the snapshot.
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

// of returns the item as it was; nil when it was not there, or asked for another name than now. before is what was made of it, if that
// is known: a look into a large table costs more than all else that is done with an item.
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

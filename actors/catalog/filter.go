package catalog

import (
	"goblin-actor/internal/config"
	"goblin-actor/internal/filter"
	"goblin-actor/protocol"
)

// filterOf returns the server's filter for items of a kind. Templates use the filter of resources, which matches their text.
func filterOf(s *Server, kind protocol.ItemKind) *config.Filter {
	switch kind {
	case protocol.Tools:
		return &s.Rules.Tools.Filter
	case protocol.Prompts:
		return &s.Rules.Prompts
	default:
		return &s.Rules.ResourceFilter
	}
}

// renames reports whether the server's rules rename any item.
func renames(s *Server) bool {
	return len(s.Rules.Tools.Rename)+len(s.Rules.Prompts.Rename)+len(s.Rules.ResourceFilter.Rename) > 0
}

// hides reports whether the server's rules hide an item.
func (o *offer) hides(kind protocol.ItemKind, own string) bool {
	switch kind {
	case protocol.Tools, protocol.Prompts:
		return filter.Hides(filterOf(o.server, kind), own)
	default:
		return o.judge.Hides(own)
	}
}

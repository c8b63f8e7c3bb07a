package catalog

import (
	"cmp"
	"slices"

	"goblin-actor/protocol"
)

// item is a parsed item on its way into a view: what it will be called there and whether it is shown.
type item struct {
	*parsed
	server   *Server
	kind     protocol.ItemKind
	name     string // own, or what the server's rules rename it to
	prefixed bool   // tools and prompts: the public name starts with the server's prefix
	public   string // the name or URI clients see
	other    string // resources and templates: the other spelling clients may use; "" = none
	entry    *Entry // nil = filtered: it keeps its names, and nobody finds it
}

// itemsOf returns a server's items of one kind in the server's order, renamed but not yet public. Templates keep
// their text: their expansions could not be traced back.
func itemsOf(s *Server, kind protocol.ItemKind, l *lot) []*item {
	rename := filterOf(s, kind).Rename
	block := make([]item, len(l.items))
	list := make([]*item, len(l.items))
	for i, p := range l.items {
		block[i] = item{parsed: p, server: s, kind: kind, name: p.own, public: p.own}
		if to := rename[p.own]; to != "" && kind != protocol.Templates {
			block[i].name = to
		}
		list[i] = &block[i]
	}
	return list
}

// inNamingOrder returns the items in the order in which they choose public names: by server as they come, within a
// server those that get the name they ask for to the letter first (plain says so), then by own name. The order in
// which a server happens to list its items decides nothing.
func inNamingOrder(items []*item, plain func(*item) bool) []*item {
	type ranked struct {
		*item
		bent bool
	}
	order := make([]ranked, len(items))
	for i, it := range items {
		order[i] = ranked{it, !plain(it)}
	}
	slices.SortStableFunc(order, func(a, b ranked) int {
		if c := cmp.Compare(a.server.Order, b.server.Order); c != 0 {
			return c
		}
		if c := cmp.Compare(a.server.Name, b.server.Name); c != 0 {
			return c
		}
		if a.bent != b.bent {
			if b.bent {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.own, b.own)
	})
	out := make([]*item, len(order))
	for i := range order {
		out[i] = order[i].item
	}
	return out
}

package catalog

import (
	"cmp"
	"slices"

	"goblin-actor/internal/filter"
	"goblin-actor/protocol"
)

// item is a parsed item on its way into a view: what it will be called there and whether it is shown.
type item struct {
	*parsed
	server   *Server
	kind     protocol.ItemKind
	name     string        // own, or what the server's rules rename it to
	prefixed bool          // tools and prompts: the public name starts with the server's prefix
	want     string        // what it would be called if nobody else were called so
	public   string        // the name or URI clients see
	other    string        // resources and templates: the other spelling clients may use; "" = none
	judge    *filter.Judge // what its server's rules say of expansions of a template
	links    []string      // those of parsed as clients follow them
	entry    *Entry        // nil = filtered: it keeps its names, and nobody finds it
	place    int           // in the list of the whole catalog, if it has an entry
}

// itemsOf returns a server's items of one kind in the server's order, renamed but not yet public. Templates keep
// their text: their expansions could not be traced back.
func itemsOf(o *offer, kind protocol.ItemKind) []*item {
	s, l := o.server, o.lots[kind]
	rename := filterOf(s, kind).Rename
	block := make([]item, len(l.items))
	list := make([]*item, len(l.items))
	for i, p := range l.items {
		block[i] = item{parsed: p, server: s, kind: kind, name: p.own, want: p.own, public: p.own, judge: o.judge}
		if to := rename[p.own]; to != "" && kind != protocol.Templates {
			block[i].name = to
		}
		list[i] = &block[i]
	}
	return list
}

// items returns those of all servers, and beside each what previous made of the same one; nil = it did not have it.
func (s *Snapshot) items(kind protocol.ItemKind, previous *Snapshot) (items, before []*item) {
	n := 0
	for _, server := range s.everybody() {
		n += len(s.byName[server.Name].lots[kind].items)
	}
	items, before = make([]*item, 0, n), make([]*item, 0, n)
	for _, server := range s.everybody() {
		o := s.byName[server.Name]
		o.items[kind] = itemsOf(o, kind)
		items, before = append(items, o.items[kind]...), append(before, previous.itemsLike(o, kind)...)
		s.warnings = append(s.warnings, o.lots[kind].warnings...)
	}
	return items, before
}

// itemsLike returns what the snapshot made of the items that another offer of the server has, in the same order; nil stands for what it did
// not have. Only of a list that is the same: items of another one are found by their names.
func (s *Snapshot) itemsLike(o *offer, kind protocol.ItemKind) []*item {
	if old := s.offer(o.server.Name); old != nil && old.lots[kind] == o.lots[kind] {
		return old.items[kind]
	}
	return make([]*item, len(o.lots[kind].items))
}

// claim is an item that is about to get its public name.
type claim struct {
	*item
	had  *item // as it was, if it is to be called the same; else nil
	bent bool  // the name it asks for is not to the letter its own
}

// inNamingOrder returns the items in the order in which they choose public names: those first that have one, then by server
// as they come, within a server those that get the name they ask for to the letter first (plain says so), then by own
// name. The order in which a server happens to list its items decides nothing. before are those of itemsLike.
func inNamingOrder(items, before []*item, had holdings, plain func(*item) bool) []claim {
	claims := make([]claim, len(items))
	for i, it := range items {
		claims[i] = claim{it, had.of(it, before[i]), !plain(it)}
	}
	slices.SortStableFunc(claims, func(a, b claim) int {
		if c := falseFirst(a.had == nil, b.had == nil); c != 0 {
			return c
		}
		if a.server != b.server {
			return cmp.Or(cmp.Compare(a.server.Order, b.server.Order), cmp.Compare(a.server.Name, b.server.Name))
		}
		if c := falseFirst(a.bent, b.bent); c != 0 {
			return c
		}
		return cmp.Compare(a.own, b.own)
	})
	return claims
}

func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

package catalog

import (
	"cmp"
	"slices"

	"goblin-actor/internal/filter"
	"goblin-actor/protocol"
)

// item is a parsed item of a view: its names and whether it is shown.
type item struct {
	*parsed
	server   *Server
	kind     protocol.ItemKind
	name     string        // own, or the name given by the server's rules
	prefixed bool          // tools and prompts: the public name has the server's prefix
	want     string        // requested public name; public differs if that name was taken
	public   string        // name or URI that clients use
	other    string        // resources and templates: alternative URI for clients; "" = none
	judge    *filter.Judge // filters the expansions of a template
	links    []string      // links of parsed as clients see them
	entry    *Entry        // nil = hidden: it keeps its names, but cannot be found
	place    int           // index in the list of the whole catalog, if it has an entry
}

// itemsOf returns a server's items of one kind in the server's order, renamed but without public names. Templates keep
// their text, since their expansions could not be mapped back.
func itemsOf(o *offer, kind protocol.ItemKind) []*item {
	s, l := o.server, o.lists[kind]
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

// items returns the items of all servers, and for each the same item in previous, or nil.
func (s *Snapshot) items(kind protocol.ItemKind, previous *Snapshot) (items, before []*item) {
	n := 0
	for _, server := range s.allServers() {
		n += len(s.byName[server.Name].lists[kind].items)
	}
	items, before = make([]*item, 0, n), make([]*item, 0, n)
	for _, server := range s.allServers() {
		o := s.byName[server.Name]
		o.items[kind] = itemsOf(o, kind)
		items, before = append(items, o.items[kind]...), append(before, previous.itemsLike(o, kind)...)
		s.warnings = append(s.warnings, o.lists[kind].warningsFor(server)...)
	}
	return items, before
}

// itemsLike returns, for each item of o, the same item in this earlier snapshot, or nil. It finds items only if the
// server's list is unchanged; items of changed lists are found by name.
func (s *Snapshot) itemsLike(o *offer, kind protocol.ItemKind) []*item {
	if old := s.offer(o.server.Name); old != nil && old.lists[kind] == o.lists[kind] {
		return old.items[kind]
	}
	return make([]*item, len(o.lists[kind].items))
}

// claim is an item that is about to get its public name.
type claim struct {
	*item
	had     *item // the item in the previous snapshot if it keeps its name; else nil
	adapted bool  // the preferred name was invalid and had to be changed
}

// inNamingOrder returns the items in the order in which they get public names: first those that keep a name, then the
// others, in both groups by server in the order of the configuration. Within a server, items whose preferred name is
// valid unchanged come first (the function plain reports which), then all are ordered by own name. The order in which a
// server lists its items does not matter. The parameter before is the result of itemsLike.
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
		if c := falseFirst(a.adapted, b.adapted); c != 0 {
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

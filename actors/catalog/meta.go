package catalog

import (
	"fmt"

	"goblin-actor/protocol"
)

// introduction is what clients are told ahead of the servers' instructions: what the configuration says, and where everything is when
// lists say nothing of it.
func (v *View) introduction() string {
	greeting := v.greeting()
	if !v.snapshot.naming.OnlyMeta || v.snapshot.ours == nil {
		return greeting
	}
	if greeting != "" {
		greeting += "\n\n"
	}
	name := func(own string) string {
		if it := v.names[0].owned[ownName{v.snapshot.ours.Name, own}]; it != nil {
			return it.public
		}
		return own
	}
	return greeting + fmt.Sprintf("The lists hold search and call tools only. Find tools, prompts and resources with %s, read a definition with %s, "+
		"and use what you found with %s and %s.", name("search_catalog"), name("describe_tool"), name("call_tool"), name("read_resource"))
}

// everybody is who has items in the view of the whole: the servers, and the gateway for its meta tools.
func (s *Snapshot) everybody() []*Server {
	if s.ours == nil {
		return s.servers
	}
	return append(s.servers[:len(s.servers):len(s.servers)], s.ours)
}

// autoMeta is how many tools of servers a model chooses among without searching.
const autoMeta = 40

// listMeta makes the list of a kind that clients are given where it is not all that is in view: the meta tools only, or, of few tools, all
// but these.
func (v *View) listMeta(kind protocol.ItemKind) {
	if v.pass || v.snapshot.ours == nil {
		return
	}
	var own, others []*Entry
	for _, e := range v.lists[kind].entries {
		if e.Server.Internal {
			own = append(own, e)
		} else {
			others = append(others, e)
		}
	}
	switch n := &v.snapshot.naming; {
	case n.OnlyMeta:
		v.meta[kind] = newList(kind, own, true, n.PageSize)
	case n.AutoMeta && kind == protocol.Tools && len(others) <= autoMeta:
		v.meta[kind] = newList(kind, others, true, n.PageSize)
	}
}

// listed is the list of a kind that clients are given, and told of changes of.
func (v *View) listed(kind protocol.ItemKind) *list {
	if v.meta[kind] != nil {
		return v.meta[kind]
	}
	return v.lists[kind]
}

// Entry returns the item that a server calls so, if it is in view; else nil.
func (v *View) Entry(kind protocol.ItemKind, server, own string) *Entry {
	var it *item
	switch key := (ownName{server, own}); kind {
	case protocol.Tools, protocol.Prompts:
		it = v.names[kind-protocol.Tools].owned[key]
	case protocol.Resources:
		it = v.resources.owned[key]
	case protocol.Templates:
		it = v.templates.owned[key]
	}
	if it == nil || it.own != own {
		return nil
	}
	return v.entry(it)
}

package catalog

import (
	"fmt"

	"goblin-actor/protocol"
)

// introduction returns the text before the servers' instructions: the configured text and, if only the meta tools are
// listed, how to find all other items.
func (v *View) introduction() string {
	greeting := v.greeting()
	if !v.snapshot.naming.OnlyMeta || v.snapshot.internal == nil {
		return greeting
	}
	if greeting != "" {
		greeting += "\n\n"
	}
	name := func(own string) string {
		if it := v.names[0].owned[ownName{v.snapshot.internal.Name, own}]; it != nil {
			return it.public
		}
		return own
	}
	return greeting + fmt.Sprintf("The lists contain only tools for searching and calling. Find tools, prompts and resources with %s, read a definition with %s, "+
		"and use what you found with %s and %s.", name("search_catalog"), name("describe_tool"), name("call_tool"), name("read_resource"))
}

// allServers returns the servers with items in the whole view, including the gateway's own for its meta tools.
func (s *Snapshot) allServers() []*Server {
	if s.internal == nil {
		return s.servers
	}
	return append(s.servers[:len(s.servers):len(s.servers)], s.internal)
}

// autoMeta is the maximum number of tools among which a model can choose without searching.
const autoMeta = 40

// listMeta sets the list of a kind for clients if it differs from the view's items: only the meta tools or, if there are few
// tools, all items except the meta tools.
func (v *View) listMeta(kind protocol.ItemKind) {
	if v.pass || v.snapshot.internal == nil {
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

// listed returns the list of a kind that clients see and are notified about.
func (v *View) listed(kind protocol.ItemKind) *list {
	if v.meta[kind] != nil {
		return v.meta[kind]
	}
	return v.lists[kind]
}

// Entry returns the server's item with that own name if it is in view; else nil.
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

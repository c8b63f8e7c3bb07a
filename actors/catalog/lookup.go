package catalog

import (
	"strconv"
	"strings"

	"goblin-actor/protocol"
)

// maxCandidates limits the names that a fault suggests.
const maxCandidates = 16

// names finds tools or prompts by every spelling of their names. It includes hidden items, so a spelling of a hidden
// item never refers to another one.
type names struct {
	public map[string]*item
	owned  map[ownName]*item // by server and own name, before and after renaming
	bare   map[string][]*item
}

type ownName struct{ server, name string }

// newNames builds the tables. The parameter public is the table of public names if it exists; else nil.
func newNames(items []*item, public map[string]*item) names {
	n := names{
		public: public,
		owned:  make(map[ownName]*item, len(items)),
		bare:   make(map[string][]*item, len(items)),
	}
	if public == nil {
		n.public = make(map[string]*item, len(items))
		for _, it := range items {
			n.public[it.public] = it
		}
	}
	block := make([]*item, 0, 2*len(items))
	add := func(name string, it *item) {
		if list := n.bare[name]; list != nil {
			n.bare[name] = append(list, it)
			return
		}
		block = append(block, it)
		n.bare[name] = block[len(block)-1 : len(block) : len(block)]
	}
	for _, it := range items {
		n.owned[ownName{it.server.Name, it.own}] = it
		add(it.own, it)
	}
	for _, it := range items {
		if it.name == it.own {
			continue
		}
		if key := (ownName{it.server.Name, it.name}); n.owned[key] == nil {
			n.owned[key] = it
		}
		add(it.name, it)
	}
	return n
}

// find returns the item with that name, or nil. If several items have the bare name, it returns them as candidates.
func (n *names) find(name string) (it *item, candidates []*item) {
	if it = n.public[name]; it != nil {
		return it, nil
	}
	if it, _ = n.qualified(name); it != nil {
		return it, nil
	}
	list := n.bare[name]
	if len(list) == 1 {
		return list[0], nil
	}
	return nil, list
}

// separators are accepted between server and name in alternative spellings. Servers' names contain none of them, so the
// first one separates.
var separators = [...]string{":", "/", "__", "."}

// qualified resolves server:tool, server/tool, server__tool, server.tool and server:tool@replica. The result replica is -1
// if the name contains none.
func (n *names) qualified(name string) (it *item, replica int) {
	for _, sep := range separators {
		server, rest, ok := strings.Cut(name, sep)
		if !ok {
			continue
		}
		if it = n.owned[ownName{server, rest}]; it != nil {
			return it, -1
		}
		at := strings.LastIndexByte(rest, '@')
		if sep != ":" || at < 0 {
			continue
		}
		if replica, err := strconv.ParseUint(rest[at+1:], 10, 16); err == nil {
			if it = n.owned[ownName{server, rest[:at]}]; it != nil {
				return it, int(replica)
			}
		}
	}
	return nil, -1
}

// Tool finds a tool by its public name or an alias. Aliases are resolved before filters, so a hidden tool is
// TOOL_NOT_FOUND by every spelling and its spellings never refer to another tool.
func (v *View) Tool(name string) (*Entry, *protocol.Fault) {
	it, candidates := v.names[0].find(name)
	if it != nil && v.entry(it) != nil {
		return it.entry, nil
	}
	fault := protocol.NoTool(name)
	fault.Candidates = v.publics(candidates)
	v.explainHidden(name, fault)
	return nil, fault
}

// Prompt finds a prompt as Tool finds a tool.
func (v *View) Prompt(name string) (*Entry, *protocol.Fault) {
	it, candidates := v.names[1].find(name)
	if it != nil && v.entry(it) != nil {
		return it.entry, nil
	}
	fault := protocol.NoPrompt(name)
	fault.Candidates = v.publics(candidates)
	return nil, fault
}

// maxShown is the maximum number of bytes of an ambiguous URI that an error quotes.
const maxShown = 1024

// publics returns the public names of those items that the view shows, at most maxCandidates.
func (v *View) publics(items []*item) (list []string) {
	for _, it := range items {
		if v.entry(it) != nil && len(list) < maxCandidates {
			list = append(list, it.public)
		}
	}
	return list
}

// Replica returns n if the name is server:tool@n for a known tool, or -1 if it names no replica.
func (v *View) Replica(name string) int {
	n := &v.names[0]
	if !strings.Contains(name, "@") || n.public[name] != nil {
		return -1
	}
	_, replica := n.qualified(name)
	return replica
}

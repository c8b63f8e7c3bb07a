package catalog

import "goblin-actor/protocol"

// ListedTool is a tool of a server's list, and how it is offered.
type ListedTool struct {
	Own    string // the tool's name at the server; "" if it has none
	Raw    []byte // the server's definition
	Name   string // preferred public name, before characters and length are adapted; "" = the tool is not offered
	Public string // name that clients use; "" = the tool is not offered
	Denied bool   // the server's rules hide it
	Again  bool   // an earlier tool in the list has the same name
	Fault  string // why the definition cannot be listed; "" = it can
}

// ListedTools returns a server's tools in list order, including those that are not offered. It parses the list again, so
// it is meant for reports, not for requests.
func (s *Snapshot) ListedTools(server string) []ListedTool {
	o := s.byName[server]
	if o == nil || o.lists[protocol.Tools] == nil {
		return nil
	}
	items := make(map[string]*item, len(o.items[protocol.Tools]))
	for _, it := range o.items[protocol.Tools] {
		items[it.own] = it
	}
	source := o.lists[protocol.Tools].source
	seen := make(map[string]bool, len(source))
	list := make([]ListedTool, 0, min(len(source), maxList))
	for _, raw := range source[:min(len(source), maxList)] {
		t := ListedTool{Raw: raw}
		p, err := parseOne(protocol.Tools, raw)
		if err != nil {
			t.Fault = err.Error()
			list = append(list, t)
			continue
		}
		t.Own = p.own
		t.Again = seen[t.Own]
		seen[t.Own] = true
		t.Denied = o.hides(protocol.Tools, t.Own)
		if it := items[t.Own]; it != nil && it.entry != nil && !t.Again {
			t.Name, t.Public = plainName(it, s.naming), it.public
			if s.main.pass {
				t.Name = it.public
			}
		}
		list = append(list, t)
	}
	return list
}

package config

import "slices"

// member returns the value of a key, or nil. n may be nil.
func (n *node) member(key string) *node {
	if n == nil {
		return nil
	}
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// serverKeys returns the names under mcpServers, in file order.
func (n *node) serverKeys() []string {
	var keys []string
	if servers := n.member("mcpServers"); servers != nil {
		for _, m := range servers.members {
			keys = append(keys, m.key)
		}
	}
	return keys
}

// at returns the value at a path of keys, or nil.
func (n *node) at(path []string) *node {
	for _, key := range path {
		n = n.member(key)
	}
	return n
}

// with returns a copy of n with value at path, or without path if value is nil. It does not modify n.
func (n *node) with(path []string, value *node) *node {
	if len(path) == 0 {
		return value
	}
	c := &node{kind: mapping}
	if n != nil {
		c.members = slices.Clone(n.members)
	}
	deeper := n.member(path[0]).with(path[1:], value)
	for i, m := range c.members {
		if m.key != path[0] {
			continue
		}
		if deeper == nil {
			c.members = slices.Delete(c.members, i, i+1)
		} else {
			c.members[i].value = deeper
		}
		return c
	}
	if deeper != nil {
		c.members = append(c.members, member{key: path[0], value: deeper})
	}
	return c
}

// sameTree reports whether two trees have the same meaning. It ignores positions, quotes, the order of members, and different spellings of
// an absent value.
func sameTree(a, b *node) bool {
	if void(a) || void(b) {
		return void(a) && void(b)
	}
	if a.kind != b.kind || a.text != b.text || len(a.items) != len(b.items) || len(a.members) != len(b.members) {
		return false
	}
	for i := range a.items {
		if !sameTree(a.items[i], b.items[i]) {
			return false
		}
	}
	others := map[string]*node{}
	for _, m := range b.members {
		others[m.key] = m.value
	}
	for _, m := range a.members {
		if other, ok := others[m.key]; !ok || !sameTree(m.value, other) {
			return false
		}
	}
	return true
}

// void reports whether n has no value, or is an empty list or mapping.
func void(n *node) bool {
	return n == nil || n.empty() && n.text != "~" || (n.kind == list || n.kind == mapping) && len(n.items)+len(n.members) == 0
}

// Entries returns the servers of text as written, with references unresolved. It sets Name, Command, Args, Env, Cwd,
// URL, Type, Headers, Disabled and the lists of tools; the other fields stay empty. The text need not be valid.
func Entries(text string) []Entry {
	servers := treeOf(text).member("mcpServers")
	if servers == nil {
		return nil
	}
	var all []Entry
	for _, m := range servers.members {
		e := Entry{Name: Slug(m.key), Command: m.value.word("command"), Cwd: m.value.word("cwd"), URL: m.value.word("url"), Type: m.value.word("type")}
		e.Disabled = m.value.word("disabled") == "true"
		e.Args = m.value.member("args").words()
		for key, list := range map[string]*[]string{"allow": &e.ToolsAllow, "deny": &e.ToolsDeny, "disabled": &e.ToolsDisabled} {
			*list = m.value.at([]string{"tools", key}).words()
		}
		e.Env, e.Headers = m.value.member("env").variables(), m.value.member("headers").variables()
		all = append(all, e)
	}
	return all
}

// word returns the text of a scalar member, or "".
func (n *node) word(key string) string {
	if m := n.member(key); m != nil && m.scalar() {
		return m.text
	}
	return ""
}

// words returns the texts of a list.
func (n *node) words() []string {
	if n == nil {
		return nil
	}
	var words []string
	for _, item := range n.items {
		words = append(words, item.text)
	}
	return words
}

func (n *node) variables() []Variable {
	if n == nil {
		return nil
	}
	var list []Variable
	for _, m := range n.members {
		list = append(list, Variable{m.key, m.value.text})
	}
	return list
}

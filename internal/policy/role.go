package policy

import (
	"slices"
	"strconv"
	"strings"

	"goblin-actor/internal/config"
	"goblin-actor/internal/filter"
	"goblin-actor/protocol"
	"goblin-actor/protocol/namespace"
)

// Item holds the properties of a catalog item that rules refer to.
type Item struct {
	Kind     protocol.ItemKind
	Server   string
	Internal bool     // the gateway's own item: only deny rules apply to it
	Public   string   // name or URI for clients
	Own      string   // name or URI as the server defines it
	Other    string   // resources and templates: another URI for clients; "" = none
	ReadOnly bool     // tools: the server sets readOnlyHint
	uris     []string // result of spelled, computed when first needed
}

// spelled returns the URIs of a resource or template that rules are matched with.
func (i *Item) spelled() []string {
	if i.uris == nil {
		i.uris = append(i.uris, i.Public, namespace.PrefixURI(i.Server, i.Own))
		if i.Other != "" {
			i.uris = append(i.uris, i.Other)
		}
	}
	return i.uris
}

// qualified returns server/name, which rules with a slash are matched with.
func (i *Item) qualified() string { return i.Server + "/" + i.Own }

// Rule identifies a rule of a role, such as "tools.deny" 2. The zero value is the role as a whole.
type Rule struct {
	Key   string
	Index int // index in the list; -1 = the key as a whole
}

// String returns the rule as a path within its role: "tools.deny[2]".
func (r Rule) String() string {
	if r.Key == "" || r.Index < 0 {
		return r.Key
	}
	return r.Key + "[" + strconv.Itoa(r.Index) + "]"
}

// role is a compiled role.
type role struct {
	rules          config.Role
	resources      *filter.Judge
	rate, toolRate config.Rate // zero = not set by the role
}

func newRole(r config.Role) role {
	c := role{rules: r, resources: filter.New(&r.Resources)}
	c.rate, _ = config.ParseRate(r.Rate) // the configuration is valid
	c.toolRate, _ = config.ParseRate(r.ToolRate)
	return c
}

// countsIn reports whether the role applies to requests of a project.
func (r *role) countsIn(project string) bool {
	return len(r.rules.Projects) == 0 || project != "" && slices.Contains(r.rules.Projects, project)
}

// covers reports whether the role applies to the server, and the rule that decides.
func (r *role) covers(server string, internal bool) (Rule, bool) {
	if internal || len(r.rules.Servers) == 0 {
		return Rule{}, true
	}
	i := matching(r.rules.Servers, server)
	return Rule{"servers", i}, i >= 0
}

// matching returns the index of the first pattern that matches one of the names, or -1.
func matching(patterns []string, names ...string) int {
	return slices.IndexFunc(patterns, func(p string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return filter.Glob(p, name) })
	})
}

// judge reports whether the role permits an item, and the rule that decides.
func (r *role) judge(it *Item) (Rule, bool) {
	covered, ok := r.covers(it.Server, it.Internal)
	if !ok {
		return covered, false
	}
	rule, permitted := r.judgeNamed(it)
	if permitted && rule.Key == "" {
		rule = covered
	}
	if !permitted || !r.rules.ReadOnly || it.Kind != protocol.Tools || it.Internal {
		return rule, permitted
	}
	if i := matchingAllow(r.rules.ReadOnlyTools, it); i >= 0 {
		return Rule{"readOnlyTools", i}, true
	}
	return Rule{"readOnly", -1}, it.ReadOnly
}

// judgeNamed is judge for the rules of the item's kind.
func (r *role) judgeNamed(it *Item) (Rule, bool) {
	key, f := "tools", &r.rules.Tools
	switch it.Kind {
	case protocol.Tools:
	case protocol.Prompts:
		key, f = "prompts", &r.rules.Prompts
	default:
		return r.judgeURI(it)
	}
	if i := filter.Denying(f.Deny, it.Public, it.qualified()); i >= 0 {
		return Rule{key + ".deny", i}, false
	}
	if len(f.Allow) == 0 || it.Internal {
		return Rule{}, true
	}
	i := matchingAllow(f.Allow, it)
	return Rule{key + ".allow", i}, i >= 0
}

// matchingAllow returns the index of the first pattern that allows a tool or prompt, or -1. A pattern with a slash
// matches only server and own name, so that a server cannot choose names that match a pattern for another server. Deny
// patterns match either name, because a shortened public name may end differently from the own name.
func matchingAllow(patterns []string, it *Item) int {
	return slices.IndexFunc(patterns, func(p string) bool {
		if strings.Contains(p, "/") {
			return filter.Glob(p, it.qualified())
		}
		return filter.Glob(p, it.Public)
	})
}

// judgeURI is judge for the URI rules of a resource or template that its server lists.
func (r *role) judgeURI(it *Item) (Rule, bool) {
	f, uris := &r.rules.Resources, it.spelled()
	allow := Rule{"resources.allow", matching(f.Allow, uris...)}
	switch {
	case r.resources == nil:
		return Rule{}, true
	case r.resources.Denies(uris):
		return Rule{"resources.deny", filter.Denying(f.Deny, uris...)}, false
	case len(f.Allow) == 0 || it.Internal:
		return Rule{}, true
	case it.Kind == protocol.Resources && slices.ContainsFunc(uris, filter.Odd):
		return Rule{"resources.allow", -1}, false
	}
	return allow, allow.Index >= 0
}

// open reports whether the servers that the role covers are visible even without items. For some kind of item, the
// role must not deny everything, and must either name its servers or have no allow list.
func (r *role) open() bool {
	return slices.ContainsFunc(r.kinds(), func(f *config.Filter) bool {
		return (len(r.rules.Servers) > 0 || len(f.Allow) == 0) && !deniesAll(f)
	})
}

// idle reports whether the role permits no item of any server. Such a role exists for its rate or its admin rights.
func (r *role) idle() bool {
	return !slices.ContainsFunc(r.kinds(), func(f *config.Filter) bool { return !deniesAll(f) })
}

// kinds returns the role's filters of all kinds of items.
func (r *role) kinds() []*config.Filter {
	return []*config.Filter{&r.rules.Tools, &r.rules.Prompts, &r.rules.Resources}
}

// deniesAll reports whether a filter denies everything.
func deniesAll(f *config.Filter) bool {
	return slices.ContainsFunc(f.Deny, func(pattern string) bool { return pattern != "" && strings.Trim(pattern, "*") == "" })
}

// narrows reports whether the role restricts the items of the servers that it covers.
func (r *role) narrows() bool {
	for _, f := range r.kinds() {
		if len(f.Allow)+len(f.Deny) > 0 {
			return true
		}
	}
	return r.rules.ReadOnly
}

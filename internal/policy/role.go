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

// Item is what of an item of the catalog roles look at.
type Item struct {
	Kind     protocol.ItemKind
	Server   string
	Internal bool     // it is one of the gateway's own: no role narrows those, but by what it denies
	Public   string   // name or URI clients see
	Own      string   // as its server calls it
	Other    string   // of resources and templates: another URI clients may use; "" = none
	ReadOnly bool     // of tools: its server says readOnlyHint
	uris     []string // what of a resource or template is judged; made when it is first needed
}

// spelled are the URIs of a resource or template that rules are held against.
func (i *Item) spelled() []string {
	if i.uris == nil {
		i.uris = append(i.uris, i.Public, namespace.PrefixURI(i.Server, i.Own))
		if i.Other != "" {
			i.uris = append(i.uris, i.Other)
		}
	}
	return i.uris
}

// qualified is what rules with a slash call a tool or prompt.
func (i *Item) qualified() string { return i.Server + "/" + i.Own }

// Rule is where in a role it stands why: "tools.deny" 2. The zero value is the role as a whole.
type Rule struct {
	Key   string
	Index int // in a list; -1 = the key as a whole
}

// String is the rule as a path below its role: "tools.deny[2]".
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
	rate, toolRate config.Rate // zero = the role says nothing of it
}

func newRole(r config.Role) role {
	c := role{rules: r, resources: filter.New(&r.Resources)}
	c.rate, _ = config.ParseRate(r.Rate) // the configuration has no faults
	c.toolRate, _ = config.ParseRate(r.ToolRate)
	return c
}

// countsIn reports whether the role counts for requests of a project.
func (r *role) countsIn(project string) bool {
	return len(r.rules.Projects) == 0 || project != "" && slices.Contains(r.rules.Projects, project)
}

// covers reports whether the role is about the server, and which of its rules says so.
func (r *role) covers(server string, internal bool) (Rule, bool) {
	if internal || len(r.rules.Servers) == 0 {
		return Rule{}, true
	}
	i := matching(r.rules.Servers, server)
	return Rule{"servers", i}, i >= 0
}

// matching returns the place of the first pattern that matches one of the names, -1 when none does.
func matching(patterns []string, names ...string) int {
	return slices.IndexFunc(patterns, func(p string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return filter.Glob(p, name) })
	})
}

// judge says whether the role permits an item, and which of its rules decided.
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

// judgeNamed judges an item by the rules of its kind.
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

// matchingAllow returns the place of the first pattern that allows a tool or prompt. One with a slash means the server's own name
// and nothing else, so no server can call an item so that a pattern for another server's allows it; what is denied may match
// either name, as a public name that was too long does not end as the own name does.
func matchingAllow(patterns []string, it *Item) int {
	return slices.IndexFunc(patterns, func(p string) bool {
		if strings.Contains(p, "/") {
			return filter.Glob(p, it.qualified())
		}
		return filter.Glob(p, it.Public)
	})
}

// judgeURI judges a resource or template that its server lists. The judge decides; that a pattern is named is for people.
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

// open reports whether the role leaves something of every server that it covers unnamed: what that is can come at any time.
func (r *role) open() bool {
	return slices.ContainsFunc(r.kinds(), func(f *config.Filter) bool {
		return (len(r.rules.Servers) > 0 || len(f.Allow) == 0) && !deniesAll(f)
	})
}

// idle reports whether the role permits nothing of any server, whatever that may come to offer: one that is there for its rate or for operators.
func (r *role) idle() bool {
	return !slices.ContainsFunc(r.kinds(), func(f *config.Filter) bool { return !deniesAll(f) })
}

// kinds are the role's filters of all kinds of items.
func (r *role) kinds() []*config.Filter {
	return []*config.Filter{&r.rules.Tools, &r.rules.Prompts, &r.rules.Resources}
}

// deniesAll reports whether a filter leaves nothing, whatever there is.
func deniesAll(f *config.Filter) bool {
	return slices.ContainsFunc(f.Deny, func(pattern string) bool { return pattern != "" && strings.Trim(pattern, "*") == "" })
}

// narrows reports whether the role keeps back anything of a server that it covers.
func (r *role) narrows() bool {
	for _, f := range r.kinds() {
		if len(f.Allow)+len(f.Deny) > 0 {
			return true
		}
	}
	return r.rules.ReadOnly
}

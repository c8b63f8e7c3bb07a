package policy

import (
	"slices"
	"strings"

	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// Verdict is a role's decision about an item, and the rule that decided.
type Verdict struct {
	Role      string
	Permitted bool
	Rule      Rule // zero = the role as a whole
}

// Explain returns the verdict of each role in rights on an item in a project ("" = outside of projects). The item may
// be used if one verdict permits it.
func (p *Policy) Explain(rights, project string, it *Item) (verdicts []Verdict) {
	return p.verdicts(rights, project, func(r *role) (Rule, bool) { return r.judge(it) })
}

// ExplainURI is Explain for a URI that its server does not list, given in all its spellings. template is the public
// text of the template that matches it, or "" if none does.
func (p *Policy) ExplainURI(rights, project, server, template string, uris []string) []Verdict {
	return p.verdicts(rights, project, func(r *role) (Rule, bool) {
		rule, ok := r.covers(server, false)
		f := &r.rules.Resources
		switch {
		case !ok:
			return rule, false
		case r.resources == nil:
			return rule, true
		case r.resources.AdmitsAll(template, uris, false):
			if i := matching(f.Allow, append(uris, template)...); i >= 0 {
				rule = Rule{"resources.allow", i}
			}
			return rule, true
		case r.resources.Denies(uris):
			return Rule{"resources.deny", matching(f.Deny, uris...)}, false
		case len(f.Allow) == 0: // a URI that the server may resolve to another one
			return Rule{"resources", -1}, false
		}
		return Rule{"resources.allow", -1}, false
	})
}

func (p *Policy) verdicts(rights, project string, judge func(*role) (Rule, bool)) (verdicts []Verdict) {
	for i := range p.roles {
		r := &p.roles[i]
		if !holds(rights, r.rules.Name) {
			continue
		}
		v := Verdict{Role: r.rules.Name, Rule: Rule{"projects", -1}}
		if r.countsIn(project) {
			v.Rule, v.Permitted = judge(r)
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}

// Permitted reports whether one of the verdicts permits the item.
func Permitted(verdicts []Verdict) bool {
	return slices.ContainsFunc(verdicts, func(v Verdict) bool { return v.Permitted })
}

// Roles returns the names of all roles, sorted.
func (p *Policy) Roles() (names []string) {
	for i := range p.roles {
		names = append(names, p.roles[i].rules.Name)
	}
	return names
}

// Role returns the configuration of a role.
func (p *Policy) Role(name string) (config.Role, bool) {
	if i := p.find(name); i >= 0 {
		return p.roles[i].rules, true
	}
	return config.Role{}, false
}

// Unmatched returns the rules of a role whose patterns match none of the existing servers and items: they refer to
// something that was removed or renamed.
func (p *Policy) Unmatched(role string, servers []string, items []Item) (rules []Rule) {
	i := p.find(role)
	if i < 0 {
		return nil
	}
	r := &p.roles[i].rules
	for _, list := range []struct {
		key      string
		patterns []string
		matches  func(pattern string) bool
	}{
		{"servers", r.Servers, func(pattern string) bool { return matching([]string{pattern}, servers...) >= 0 }},
		{"tools.allow", r.Tools.Allow, allowsAny(items, protocol.Tools)}, {"tools.deny", r.Tools.Deny, deniesAny(items, protocol.Tools)},
		{"readOnlyTools", r.ReadOnlyTools, allowsAny(items, protocol.Tools)},
		{"prompts.allow", r.Prompts.Allow, allowsAny(items, protocol.Prompts)}, {"prompts.deny", r.Prompts.Deny, deniesAny(items, protocol.Prompts)},
		{"resources.allow", r.Resources.Allow, meansAny(items)}, {"resources.deny", r.Resources.Deny, meansAny(items)},
	} {
		for i, pattern := range list.patterns {
			if !list.matches(pattern) {
				rules = append(rules, Rule{list.key, i})
			}
		}
	}
	return rules
}

func allowsAny(items []Item, kind protocol.ItemKind) func(string) bool {
	return func(pattern string) bool {
		return slices.ContainsFunc(items, func(it Item) bool { return it.Kind == kind && matchingAllow([]string{pattern}, &it) >= 0 })
	}
}

func deniesAny(items []Item, kind protocol.ItemKind) func(string) bool {
	return func(pattern string) bool {
		return slices.ContainsFunc(items, func(it Item) bool {
			return it.Kind == kind && matching([]string{pattern}, it.Public, it.qualified()) >= 0
		})
	}
}

// meansAny returns a function that reports whether a pattern matches a resource or the text of a template, or may
// match a URI of a template, because both start with the same literal text.
func meansAny(items []Item) func(string) bool {
	return func(pattern string) bool {
		return slices.ContainsFunc(items, func(it Item) bool {
			switch it.Kind {
			case protocol.Resources:
				return matching([]string{pattern}, it.spelled()...) >= 0
			case protocol.Templates:
				return slices.ContainsFunc(it.spelled(), func(text string) bool {
					literal, _, _ := strings.Cut(text, "{")
					fixed := pattern[:max(0, min(len(pattern), strings.IndexAny(pattern+"*", "*?")))]
					return matching([]string{pattern}, text) >= 0 || strings.HasPrefix(fixed, literal) || strings.HasPrefix(literal, fixed)
				})
			}
			return false
		})
	}
}

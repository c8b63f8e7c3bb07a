package policy

import (
	"slices"
	"strings"

	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// Verdict is what one role says of something, and which of its rules decided.
type Verdict struct {
	Role      string
	Permitted bool
	Rule      Rule // the zero value is the role as a whole
}

// Explain says what each role of the rights says of an item in a project ("" = outside of projects). Whoever has the rights may use it
// when one of them permits it.
func (p *Policy) Explain(rights, project string, it *Item) (verdicts []Verdict) {
	return p.verdicts(rights, project, func(r *role) (Rule, bool) { return r.judge(it) })
}

// ExplainURI is Explain for a URI that its server does not list, in all of its spellings. template is the text of what promises it, as clients see
// it; "" = nothing does.
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
		case len(f.Allow) == 0: // a URI that may mean another one
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

// Permitted reports whether one of the roles permits it.
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

// Role returns what the configuration says of a role.
func (p *Policy) Role(name string) (config.Role, bool) {
	if i := p.find(name); i >= 0 {
		return p.roles[i].rules, true
	}
	return config.Role{}, false
}

// Unmatched returns the rules of a role whose pattern matches nothing of what there is: servers and items. What it is written for is not
// there, or has another name.
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

// meansAny reports whether a pattern may mean a resource, or what a template leads to: it matches the template's text, or begins as that does.
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

package policy

import (
	"cmp"
	"slices"
	"strings"

	"goblin-actor/internal/config"
	"goblin-actor/internal/filter"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol/namespace"
)

// Nobody are the rights of whoever has no role: nothing is permitted. "" are those where there is no policy.
const Nobody = "-"

// separator stands between the names of roles in rights; no name holds it.
const separator = ","

// Policy is the section `policy`, compiled. Immutable. nil = there is no such section, and everything is permitted.
type Policy struct {
	report bool
	roles  []role // sorted by name
	bind   []config.Binding
}

// Compile returns the policy that a configuration without faults holds; nil when it holds none.
func Compile(c config.Policy) *Policy {
	if !c.Present {
		return nil
	}
	p := &Policy{report: c.Mode == "report", bind: c.Bind}
	for _, r := range c.Roles {
		p.roles = append(p.roles, newRole(r))
	}
	slices.SortFunc(p.roles, func(a, b role) int { return cmp.Compare(a.rules.Name, b.rules.Name) })
	return p
}

// Of returns the policy in which the principal's rights mean what they were meant to; of one who brings none along that in force: there nobody is
// forgotten.
func Of(who *identity.Principal, inForce *Policy) *Policy {
	if p, _ := identity.Of(who).Policy.(*Policy); p != nil {
		return p
	}
	return inForce
}

// Reports reports whether the policy only says what it would refuse.
func (p *Policy) Reports() bool { return p != nil && p.report }

// Rights returns the rights of a principal in their one writing: the sorted names of its roles. These are those that it brings
// along (roles; what there is no role of is left out) and those that are bound to the API key of that name ("" = it has none) or
// to whoever is not asked (local). Nobody = it has no role; "" = there is no policy.
func (p *Policy) Rights(roles []string, key string, local bool) string {
	if p == nil {
		return ""
	}
	var names []string
	for i := range p.roles {
		name := p.roles[i].rules.Name
		bound := slices.ContainsFunc(p.bind, func(b config.Binding) bool { return b.Role == name && binds(&b, key, local) })
		if bound || slices.ContainsFunc(roles, func(r string) bool { return namespace.Slug(r) == name }) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return Nobody
	}
	return strings.Join(slices.Compact(names), separator)
}

// Bound returns the roles that policy.bind gives to the named key. It returns nil for a nil policy.
func (p *Policy) Bound(key string) []string {
	var names []string
	if p == nil {
		return nil
	}
	for i := range p.bind {
		if b := &p.bind[i]; binds(b, key, false) && !slices.Contains(names, b.Role) {
			names = append(names, b.Role)
		}
	}
	return names
}

// binds reports whether the binding means whoever has the key, or is not asked.
func binds(b *config.Binding, key string, local bool) bool {
	return local && b.Local || key != "" && filter.Any(b.Keys, key)
}

// Admin returns the most that the roles of the rights permit of what operators do. Projects do not narrow it: operators see all of them. local
// is whoever is not asked who he is. A policy that only reports keeps nothing back: he may act then, and whoever has a key look.
func (p *Policy) Admin(rights string, local bool) (most identity.Admin) {
	switch {
	case p == nil, p.report && local:
		return identity.AdminAct
	case p.report:
		most = identity.AdminView
	}
	for name := range strings.SplitSeq(rights, separator) {
		i := p.find(name)
		if i < 0 {
			continue
		}
		switch p.roles[i].rules.Admin {
		case "view":
			most = max(most, identity.AdminView)
		case "act":
			most = identity.AdminAct
		}
	}
	return most
}

// find returns the place of the role of that name, -1 when there is none.
func (p *Policy) find(name string) int {
	i, found := slices.BinarySearchFunc(p.roles, name, func(r role, name string) int { return cmp.Compare(r.rules.Name, name) })
	if !found {
		return -1
	}
	return i
}

// InForce returns the roles of the rights that count for requests of a project; "" = outside of projects.
func (p *Policy) InForce(rights, project string) Set {
	set := p.none()
	for name := range strings.SplitSeq(rights, separator) {
		if i := p.find(name); i >= 0 && p.roles[i].countsIn(project) {
			set.add(i)
		}
	}
	return set
}

// Counts reports whether a project is there for whoever has the rights: one of its roles counts in it. What is outside of projects is there
// for everybody, if there is nothing to see. A policy that only reports hides no project.
func (p *Policy) Counts(rights, project string) bool {
	return p == nil || project == "" || p.report || !p.InForce(rights, project).Empty()
}

// Covers reports whether any role of the rights is about a server, not only to deny all of it, and counts in a project; "" = outside of projects. To
// others it is not there, but where a policy only reports.
func (p *Policy) Covers(rights, project, server string) bool {
	return p == nil || p.report || slices.ContainsFunc(p.roles, func(r role) bool {
		_, covered := r.covers(server, false)
		return covered && !r.idle() && r.countsIn(project) && holds(rights, r.rules.Name)
	})
}

// Set is some of the roles of one policy.
type Set []uint64

func (p *Policy) none() Set { return make(Set, (len(p.roles)+63)/64) }

func (s Set) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s Set) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

// Empty reports whether there is no role in it.
func (s Set) Empty() bool { return !s.Meets(s) }

// Meets reports whether the two sets, of the same policy, share a role.
func (s Set) Meets(other Set) bool {
	for i := range s {
		if s[i]&other[i] != 0 {
			return true
		}
	}
	return false
}

// holds reports whether rights name the role.
func holds(rights, role string) bool {
	for name := range strings.SplitSeq(rights, separator) {
		if name == role {
			return true
		}
	}
	return false
}

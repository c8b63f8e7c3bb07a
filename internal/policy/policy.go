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

// NoRoles is the rights of a principal without roles: it permits nothing. Without a policy, rights are "".
const NoRoles = "-"

// separator separates the role names in rights. Role names do not contain it.
const separator = ","

// Policy is the compiled section `policy` of the configuration. It is immutable. nil = no such section: everything is
// permitted.
type Policy struct {
	report bool
	roles  []role // sorted by name
	bind   []config.Binding
}

// Compile compiles the policy of a valid configuration. It returns nil if there is none.
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

// Of returns the policy under which the principal's rights were determined. For a principal without one it returns inForce.
func Of(who *identity.Principal, inForce *Policy) *Policy {
	if p, _ := identity.Of(who).Policy.(*Policy); p != nil {
		return p
	}
	return inForce
}

// Restricts reports whether the policy restricts a principal with these rights.
func (p *Policy) Restricts(rights string) bool { return p != nil && rights != identity.AllRights }

// Reports reports whether the policy only reports what it would refuse.
func (p *Policy) Reports() bool { return p != nil && p.report }

// Rights returns the rights of a principal in canonical form: the sorted names of its roles. Its roles are those
// listed for its key (unknown ones are ignored) and those bound to the name of its key ("" = no key) or to
// unauthenticated clients (local). Rights returns NoRoles if there are none, and "" for a nil policy.
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
		return NoRoles
	}
	return strings.Join(slices.Compact(names), separator)
}

// Roles returns the names of the roles in rights, or nil if there are none.
func Roles(rights string) []string {
	if rights == "" || rights == NoRoles {
		return nil
	}
	return strings.Split(rights, separator)
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

// binds reports whether the binding applies to the key, or to unauthenticated clients.
func binds(b *config.Binding, key string, local bool) bool {
	return local && b.Local || key != "" && filter.Any(b.Keys, key)
}

// Admin returns the highest admin access that the roles in rights grant. Projects do not restrict it. local means an
// unauthenticated client. A nil policy grants AdminAct. A policy that only reports grants AdminAct to unauthenticated
// clients and at least AdminView to keys.
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

// find returns the index of a role, or -1.
func (p *Policy) find(name string) int {
	i, found := slices.BinarySearchFunc(p.roles, name, func(r role, name string) int { return cmp.Compare(r.rules.Name, name) })
	if !found {
		return -1
	}
	return i
}

// InForce returns the roles in rights that apply to requests of a project; "" = outside of projects.
func (p *Policy) InForce(rights, project string) Set {
	set := p.none()
	for name := range strings.SplitSeq(rights, separator) {
		if i := p.find(name); i >= 0 && p.roles[i].countsIn(project) {
			set.add(i)
		}
	}
	return set
}

// Counts reports whether a project is visible with the rights: one of the roles applies in it. Requests outside of
// projects are always possible, and a policy that only reports hides no project.
func (p *Policy) Counts(rights, project string) bool {
	return p == nil || project == "" || p.report || !p.InForce(rights, project).Empty()
}

// Covers reports whether a server is visible with the rights: one of the roles applies in the project ("" = outside of
// projects), covers the server and is not idle. A policy that only reports hides no server.
func (p *Policy) Covers(rights, project, server string) bool {
	return p == nil || p.report || slices.ContainsFunc(p.roles, func(r role) bool {
		_, covered := r.covers(server, false)
		return covered && !r.idle() && r.countsIn(project) && holds(rights, r.rules.Name)
	})
}

// Set is a set of roles of one policy, as a bit set.
type Set []uint64

func (p *Policy) none() Set { return make(Set, (len(p.roles)+63)/64) }

func (s Set) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s Set) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

// Empty reports whether the set has no role.
func (s Set) Empty() bool { return !s.Meets(s) }

// Meets reports whether two sets of the same policy have a role in common.
func (s Set) Meets(other Set) bool {
	for i := range s {
		if s[i]&other[i] != 0 {
			return true
		}
	}
	return false
}

// holds reports whether rights contain the role.
func holds(rights, role string) bool {
	for name := range strings.SplitSeq(rights, separator) {
		if name == role {
			return true
		}
	}
	return false
}

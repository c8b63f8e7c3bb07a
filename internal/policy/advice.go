package policy

import "strings"

// maxAdvised limits the roles that Advice names.
const maxAdvised = 3

// Advice says for operators why the roles in rights do not permit an item in a project ("" = outside of projects), and
// which other roles would: "role ops permits it; role reader does not: tools.deny[0]".
func (p *Policy) Advice(rights, project string, it *Item) string {
	var parts []string
	if permit := p.permitting(rights, project, it); len(permit) > 0 {
		parts = append(parts, named(permit)+" permits it")
	}
	var refuse []string
	for _, v := range p.Explain(rights, project, it) {
		if !v.Permitted {
			refuse = append(refuse, "role "+v.Role+" does not: "+v.Rule.String())
		}
	}
	if len(refuse) > maxAdvised {
		refuse = append(refuse[:maxAdvised], "…")
	}
	return strings.Join(append(parts, refuse...), "; ")
}

// permitting returns the roles outside of rights that permit an item in a project.
func (p *Policy) permitting(rights, project string, it *Item) (names []string) {
	for i := range p.roles {
		r := &p.roles[i]
		if _, ok := r.judge(it); ok && r.countsIn(project) && !holds(rights, r.rules.Name) {
			names = append(names, r.rules.Name)
		}
	}
	return names
}

// named returns "role a" or "role a, b or c".
func named(roles []string) string {
	if len(roles) > maxAdvised {
		roles = append(roles[:maxAdvised:maxAdvised], "another one")
	}
	if n := len(roles); n > 1 {
		return "role " + strings.Join(roles[:n-1], ", ") + " or " + roles[n-1]
	}
	return "role " + roles[0]
}

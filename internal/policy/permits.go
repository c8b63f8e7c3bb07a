package policy

import "goblin-actor/internal/config"

// Permits returns the roles that permit an item, regardless of their projects.
func (p *Policy) Permits(it *Item) Set {
	set := p.none()
	for i := range p.roles {
		if _, ok := p.roles[i].judge(it); ok {
			set.add(i)
		}
	}
	return set
}

// any reports whether matches returns true for a role in the set.
func (p *Policy) any(set Set, matches func(*role) bool) bool {
	for i := range p.roles {
		if set.has(i) && matches(&p.roles[i]) {
			return true
		}
	}
	return false
}

// Shows reports whether a server is visible to a principal with the roles, even if they permit none of its items. One of the
// roles must cover the server and be open.
func (p *Policy) Shows(set Set, server string) bool {
	return p.any(set, func(r *role) bool {
		_, covered := r.covers(server, false)
		return covered && r.open()
	})
}

// Trusts reports whether the roles permit requests whose meaning is unknown to the gateway, such as a server's own
// methods. One of them must cover the server without restricting its items.
func (p *Policy) Trusts(set Set, server string) bool {
	return p.any(set, func(r *role) bool {
		_, covered := r.covers(server, false)
		return covered && !r.narrows()
	})
}

// Admits reports whether the roles permit a URI that its server does not list, given in all its spellings. template is
// the public text of the template that matches it, or "" if none does.
func (p *Policy) Admits(set Set, server string, internal bool, template string, uris []string) bool {
	return p.any(set, func(r *role) bool {
		_, covered := r.covers(server, internal)
		return covered && r.resources.AdmitsAll(template, uris, internal)
	})
}

// Rate returns the rate of requests that rights permit; zero = unlimited. The highest rate of the roles applies. Roles
// without a rate are ignored, and projects do not matter.
func (p *Policy) Rate(rights string) (most config.Rate) {
	if p == nil {
		return most
	}
	for i := range p.roles {
		if r := &p.roles[i]; holds(rights, r.rules.Name) && most.Less(r.rate) {
			most = r.rate
		}
	}
	return most
}

// ToolRate returns the rate of calls of an item that the roles in set permit; zero = unlimited. Of the roles that
// also permit the item, the highest rate applies.
func (p *Policy) ToolRate(set, permits Set) (most config.Rate) {
	for i := range p.roles {
		if r := &p.roles[i]; set.has(i) && permits.has(i) && most.Less(r.toolRate) {
			most = r.toolRate
		}
	}
	return most
}

// RatesTools reports whether a role in the set limits the rate of tool calls.
func (p *Policy) RatesTools(set Set) bool {
	return p.any(set, func(r *role) bool { return r.toolRate.Requests > 0 })
}

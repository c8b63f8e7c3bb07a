package policy

import "goblin-actor/internal/config"

// Permits returns the roles that permit an item, in whatever project they count.
func (p *Policy) Permits(it *Item) Set {
	set := p.none()
	for i := range p.roles {
		if _, ok := p.roles[i].judge(it); ok {
			set.add(i)
		}
	}
	return set
}

// any reports whether one of the roles in the set is so.
func (p *Policy) any(set Set, is func(*role) bool) bool {
	for i := range p.roles {
		if set.has(i) && is(&p.roles[i]) {
			return true
		}
	}
	return false
}

// Shows reports whether a server is there for whoever has the roles although it may have nothing that they permit: one of them names it,
// or leaves some kind of what it offers unnamed.
func (p *Policy) Shows(set Set, server string) bool {
	return p.any(set, func(r *role) bool {
		_, covered := r.covers(server, false)
		return covered && r.open()
	})
}

// Trusts reports whether the roles permit what nobody knows the meaning of: a method of the server's own. One of them must cover the
// server and keep nothing of it back.
func (p *Policy) Trusts(set Set, server string) bool {
	return p.any(set, func(r *role) bool {
		_, covered := r.covers(server, false)
		return covered && !r.narrows()
	})
}

// Admits reports whether the roles permit a URI that its server does not list, in all of its spellings. template is the public text of
// what promises it; "" = nothing does.
func (p *Policy) Admits(set Set, server string, internal bool, template string, uris []string) bool {
	return p.any(set, func(r *role) bool {
		_, covered := r.covers(server, internal)
		return covered && r.resources.AdmitsAll(template, uris, internal)
	})
}

// Rate returns how many requests whoever has the rights may send; zero = as many as it likes. A role that says no rate says nothing
// of it; of those that do the most generous counts. Projects do not narrow it.
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

// ToolRate returns how many calls of an item whoever has the roles may make; zero = as many as it likes. permits are the roles that permit the
// item: no other role has a say.
func (p *Policy) ToolRate(set, permits Set) (most config.Rate) {
	for i := range p.roles {
		if r := &p.roles[i]; set.has(i) && permits.has(i) && most.Less(r.toolRate) {
			most = r.toolRate
		}
	}
	return most
}

// RatesTools reports whether any role limits calls of a tool.
func (p *Policy) RatesTools(set Set) bool {
	return p.any(set, func(r *role) bool { return r.toolRate.Requests > 0 })
}

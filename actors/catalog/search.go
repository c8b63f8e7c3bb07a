package catalog

import (
	"slices"

	"goblin-actor/protocol"
)

// Limits of the work for one request, in units of namespace.Template.Effort. Lookups run in an actor's step, which
// delays other messages, and servers determine how much there is to try.
const (
	serverEffort = 512 << 10 // the templates of one server
	searchEffort = 2 << 20   // the templates of all servers
)

// search is the budget for resolving one URI, or those of one result.
type search struct {
	view       *View
	spent      map[*Server]int
	total      int
	incomplete bool // some templates were not tried
	hidesItem  bool // the URI refers to an item that the view hides
}

func (v *View) search() *search { return &search{view: v} }

// spend subtracts the effort from the budgets of the server and of the search. It returns false if one of them does not
// suffice.
func (q *search) spend(server *Server, effort int) bool {
	if q.spent[server]+effort > serverEffort || q.total+effort > searchEffort {
		q.incomplete = true
		return false
	}
	if q.spent == nil {
		q.spent = map[*Server]int{}
	}
	q.spent[server] += effort
	q.total += effort
	return true
}

// matches reports whether the URI is an expansion of the template that the server's rules and the view allow.
func (q *search) matches(it *item, original string) bool {
	if q.view.entry(it) == nil {
		return false
	}
	effort := it.template.Effort(original)
	return effort > 0 && q.spend(it.server, effort) && it.template.Match(original) && it.judge.Admits(it.own, original) && q.view.admits(it.server, it.own, original)
}

// hide returns the fault for a URI of an item that the view hides, and ensures that the URI leads to no other item.
func (q *search) hide(uri string) *protocol.Fault {
	q.hidesItem = true
	return protocol.NoResource(uri)
}

// notFound returns the fault for a URI without an owner.
func (q *search) notFound(uri string) *protocol.Fault {
	fault := protocol.NoResource(uri)
	if q.incomplete {
		fault.Message += " (too many templates might match it; not all of them were tried)"
	}
	return fault
}

// prefixes finds templates by their literal prefix.
type prefixes struct {
	lengths []int // the distinct lengths of the prefixes, ascending
	ranks   map[string][]int
}

// newPrefixes indexes the templates by their literal prefix. A template's rank is its index in ranked.
func newPrefixes(ranked []*item) prefixes {
	p := prefixes{ranks: map[string][]int{}}
	for rank, it := range ranked {
		prefix := it.template.Prefix()
		p.ranks[prefix] = append(p.ranks[prefix], rank)
		p.lengths = append(p.lengths, len(prefix))
	}
	slices.Sort(p.lengths)
	p.lengths = slices.Compact(p.lengths)
	return p
}

// of returns the ranks of the templates whose literal prefix begins the URI, in ascending order.
func (p *prefixes) of(uri string) []int {
	var found []int
	for _, n := range p.lengths {
		if n > len(uri) {
			break
		}
		found = append(found, p.ranks[uri[:n]]...)
	}
	slices.Sort(found)
	return found
}

package catalog

import (
	"slices"

	"goblin-actor/protocol"
)

// Bounds of what is tried for one request, in steps of namespace.Template.Effort: a look-up is done in the step of an actor
// that others wait for, and what has to be tried is for servers to say.
const (
	serverEffort = 512 << 10 // for the templates of one server
	searchEffort = 2 << 20   // for those of all
)

// search is what finding a URI, or those of one result, may cost.
type search struct {
	view   *View
	spent  map[*Server]int
	total  int
	gaveUp bool // a template was not tried
	veiled bool // what the URI means is there, and not for clients of the view
}

func (v *View) search() *search { return &search{view: v} }

// affords takes the effort from the server's part; false when that is used up.
func (q *search) affords(server *Server, effort int) bool {
	if q.spent[server]+effort > serverEffort || q.total+effort > searchEffort {
		q.gaveUp = true
		return false
	}
	if q.spent == nil {
		q.spent = map[*Server]int{}
	}
	q.spent[server] += effort
	q.total += effort
	return true
}

// matches reports whether the URI is an expansion of the template, and one its server's rules and the view let through.
func (q *search) matches(it *item, original string) bool {
	if q.view.entry(it) == nil {
		return false
	}
	effort := it.template.Effort(original)
	return effort > 0 && q.affords(it.server, effort) && it.template.Match(original) && it.judge.Admits(it.own, original) && q.view.admits(it.server, it.own, original)
}

// veil is the fault when what the URI means is not for clients of the view: it means nothing else then.
func (q *search) veil(uri string) *protocol.Fault {
	q.veiled = true
	return protocol.NoResource(uri)
}

// none is the fault when nobody was found.
func (q *search) none(uri string) *protocol.Fault {
	fault := protocol.NoResource(uri)
	if q.gaveUp {
		fault.Message += " (its servers have too many templates that it may match; not all of them were tried)"
	}
	return fault
}

// prefixes finds templates by the literal text they begin with.
type prefixes struct {
	lengths []int // of the texts, each once, ascending
	ranks   map[string][]int
}

// newPrefixes numbers the templates by their place in ranked.
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

// of returns the numbers of the templates whose text uri begins with, ascending.
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

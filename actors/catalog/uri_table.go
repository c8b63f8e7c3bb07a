package catalog

import (
	"cmp"
	"iter"
	"slices"
)

// uris finds resources by every spelling of their URI, or templates by their text. Hidden items are only in owned and
// hidden, which keep a template from leading to a hidden item.
type uris struct {
	public   map[string]*item
	other    map[string]*item
	owned    map[ownName]*item  // by server and own URI, including hidden ones
	original map[string][]*item // by own URI, the items of all servers that show it, in the order of the configuration
	ranked   []*item            // templates that can match: those with the most literal characters first, then in the order of the configuration
	prefixes prefixes           // of ranked
	hidden   []*item            // templates hidden by filters
}

func newURIs(items []*item) uris {
	u := uris{
		public:   make(map[string]*item, len(items)),
		other:    make(map[string]*item, len(items)),
		owned:    make(map[ownName]*item, len(items)),
		original: make(map[string][]*item, len(items)),
	}
	block := make([]*item, 0, len(items))
	for _, it := range items {
		u.owned[ownName{it.server.Name, it.own}] = it
		if it.entry == nil {
			if it.template != nil {
				u.hidden = append(u.hidden, it)
			}
			continue
		}
		u.public[it.public] = it
		if it.other != "" {
			u.other[it.other] = it
		}
		if list := u.original[it.own]; list != nil {
			u.original[it.own] = append(list, it)
		} else {
			block = append(block, it)
			u.original[it.own] = block[len(block)-1 : len(block) : len(block)]
		}
		if it.template != nil {
			u.ranked = append(u.ranked, it)
		}
	}
	slices.SortStableFunc(u.ranked, func(a, b *item) int {
		return cmp.Or(cmp.Compare(b.template.Literals(), a.template.Literals()), cmp.Compare(a.server.Order, b.server.Order),
			cmp.Compare(a.server.Name, b.server.Name), cmp.Compare(a.own, b.own))
	})
	u.prefixes = newPrefixes(u.ranked)
	return u
}

// candidates returns the templates a URI may be an expansion of, in the order of ranked.
func (u *uris) candidates(uri string) iter.Seq[*item] {
	return func(yield func(*item) bool) {
		for _, rank := range u.prefixes.of(uri) {
			if !yield(u.ranked[rank]) {
				return
			}
		}
	}
}

// spelled returns the item with this public URI or alternative spelling, or nil.
func (u *uris) spelled(uri string) *item {
	if it := u.public[uri]; it != nil {
		return it
	}
	return u.other[uri]
}

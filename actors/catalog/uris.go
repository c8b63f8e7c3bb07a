package catalog

import (
	"cmp"

	"goblin-actor/protocol/namespace"
)

// The styles of public URIs.
const (
	stylePrefix     = "prefix"     // resource://<server>/<original>
	styleUnderscore = "underscore" // <server>_<scheme>___<rest>
	styleOriginal   = "original"   // the server's URI, unchanged
)

// nameURIs assigns public URIs and alternative spellings to the resources or templates of all servers. A renamed
// resource is treated as if its server used the new URI.
func nameURIs(items, before []*item, naming Naming, had holdings) (warnings []string) {
	for _, it := range items {
		it.want = it.name
	}
	ordered := inNamingOrder(items, before, had, func(*item) bool { return true })
	ids := make(map[string]*item, len(items))
	publics := make(map[string]*item, len(items))
	unnamed := &item{}
	for _, claim := range ordered {
		it, old := claim.item, claim.had
		if old == nil {
			old = unnamed
		}
		id := namespace.UnderscoreID(it.server.Name, it.name)
		switch {
		case naming.URIStyle == styleUnderscore && old.public != "":
			id = free(ids, id, old.public, it)
		default:
			id = free(ids, id, old.other, it)
		}
		switch naming.URIStyle {
		case styleUnderscore:
			it.public, it.other = id, namespace.PrefixURI(it.server.Name, it.name)
		case styleOriginal:
			it.public, it.other = it.name, id
			if first := publics[it.public]; first != nil && old.public == "" {
				it.public = namespace.PrefixURI(it.server.Name, it.name)
				warnings = warn(warnings, "%s: %q of server %s is listed as %q, because its URI belongs to server %s",
					it.kind, clip(it.own, shown), it.server.Name, clip(it.public, 2*shown), first.server.Name)
			}
		default:
			it.public, it.other = namespace.PrefixURI(it.server.Name, it.name), id
		}
		it.public = free(publics, it.public, old.public, it)
	}
	return warnings
}

// free assigns the item its former URI, or else want. If that is taken, it adds a suffix derived from the item.
func free(taken map[string]*item, want, had string, it *item) string {
	got := cmp.Or(had, want)
	for n := 0; taken[got] != nil; n++ {
		got = namespace.UnderscoreSuffix(want, seed(it, n))
	}
	taken[got] = it
	return got
}

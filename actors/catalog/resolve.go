package catalog

import (
	"cmp"
	"slices"
	"strings"

	"goblin-actor/protocol"
	"goblin-actor/protocol/namespace"
)

// Found is where a URI leads.
type Found struct {
	Server   *Server
	Original string // the URI to send to the server
	Entry    *Entry // the resource listed under it, or the template it matches; nil = neither
	Unlisted bool   // only if its server has mentioned it, which its pool knows
}

// Resource finds where a URI leads, in this order: a listed resource's public URI or its
// other spelling; an expansion of a template in either spelling; the server's own URI, if exactly one server owns
// it; a URI that names its server and that nothing promises, as far as that is allowed (unlisted.go).
func (v *View) Resource(uri string) (Found, *protocol.Fault) {
	q := v.search()
	found, fault := q.resource(uri)
	if fault != nil && fault.Name == protocol.ResourceNotFound && !q.veiled {
		if f, ok := q.unlisted(uri); ok {
			return f, nil
		}
	}
	return found, fault
}

// promised finds what a list, a template or a tool's link promises.
func (v *View) promised(uri string) (Found, *protocol.Fault) { return v.search().resource(uri) }

func (q *search) resource(uri string) (Found, *protocol.Fault) {
	v := q.view
	if it := v.resources.spelled(uri); it != nil {
		if v.entry(it) == nil {
			return Found{}, q.veil(uri)
		}
		return Found{Server: it.server, Original: it.own, Entry: it.entry}, nil
	}
	if server, original, ok := namespace.SplitPrefixURI(uri); ok {
		if f, ok := q.owns(server, original); ok {
			return f, nil
		}
		if v.outside(server) || v.scope != nil && v.resources.owned[ownName{server, original}] != nil {
			return Found{}, q.veil(uri)
		}
	}
	if f, ok := q.underscored(uri); ok {
		return f, nil
	}
	return q.raw(uri)
}

// owns finds a URI of the server's own: listed there, or matched by one of its templates.
func (q *search) owns(server, original string) (Found, bool) {
	v := q.view
	if it := v.resources.owned[ownName{server, original}]; it != nil {
		if v.entry(it) == nil {
			return Found{}, false
		}
		return Found{Server: it.server, Original: original, Entry: it.entry}, true
	}
	for _, it := range v.linked[ownName{server, original}] {
		if v.entry(it) != nil && it.judge.Admits("", original) && v.admits(it.server, "", original) {
			return Found{Server: it.server, Original: original}, true
		}
	}
	for it := range v.templates.candidates(original) {
		if it.server.Name == server && q.matches(it, original) {
			return Found{Server: it.server, Original: original, Entry: it.entry}, true
		}
	}
	return Found{}, false
}

// underscored finds an expansion of a template in style underscore; only if what it stands for is certain.
func (q *search) underscored(id string) (Found, bool) {
	server, _, ok := strings.Cut(id, "_")
	if !ok || !namespace.IsSlug(server) {
		return Found{}, false
	}
	for _, it := range q.view.templates.ranked {
		if it.server.Name != server || q.view.entry(it) == nil || !q.affords(it.server, it.template.EffortOfID(id)) {
			continue
		}
		if original, ok := it.template.ExpandUnderscore(server, id); ok {
			return q.owns(server, original)
		}
	}
	return Found{}, false
}

// raw finds a server's own URI. A template listed under its own text (style original) takes its expansions before
// anybody else; otherwise there must be one owner.
func (q *search) raw(uri string) (Found, *protocol.Fault) {
	v := q.view
	var owners []Found
	for _, it := range v.resources.original[uri] {
		if v.entry(it) != nil {
			owners = append(owners, Found{Server: it.server, Original: uri, Entry: it.entry})
		}
	}
	if len(owners) == 0 {
		if it := q.taker(uri); it != nil {
			return Found{Server: it.server, Original: uri, Entry: it.entry}, nil
		}
	}
	for it := range v.templates.candidates(uri) {
		known := func(f Found) bool { return f.Server == it.server }
		if slices.ContainsFunc(owners, known) || v.resources.owned[ownName{it.server.Name, uri}] != nil || !q.matches(it, uri) {
			continue
		}
		owners = append(owners, Found{Server: it.server, Original: uri, Entry: it.entry})
	}
	switch len(owners) {
	case 0:
		if len(v.servers) == 1 {
			if f, ok := q.owns(v.servers[0].Name, uri); ok {
				return f, nil
			}
		}
		return Found{}, q.none(uri)
	case 1:
		return owners[0], nil
	}
	return Found{}, ambiguous(uri, owners)
}

// taker returns the template listed under its own text that takes the URI.
func (q *search) taker(uri string) *item {
	v := q.view
	for it := range v.templates.candidates(uri) {
		if it.public == it.own && v.resources.owned[ownName{it.server.Name, uri}] == nil && q.matches(it, uri) {
			return it
		}
	}
	return nil
}

func ambiguous(uri string, owners []Found) *protocol.Fault {
	slices.SortStableFunc(owners, func(a, b Found) int { return cmp.Compare(a.Server.Order, b.Server.Order) })
	f := &protocol.Fault{Name: protocol.AmbiguousURI, URI: clip(uri, maxShown)}
	for _, o := range owners[:min(len(owners), maxCandidates)] {
		public := namespace.PrefixURI(o.Server.Name, uri)
		if o.Entry.Kind == protocol.Resources {
			public = o.Entry.Public
		}
		f.Candidates = append(f.Candidates, public)
	}
	f.Message = "Several servers have " + f.URI + "; use one of: " + strings.Join(f.Candidates, " ")
	return f
}

// Template finds what a completion reference means: a template by its public text, the other spelling or, if one
// server alone has it, its own text; or a resource, listed or matched.
func (v *View) Template(ref string) (*Entry, *protocol.Fault) {
	if it := v.templates.spelled(ref); it != nil {
		if v.entry(it) == nil {
			return nil, protocol.NoResource(ref)
		}
		return it.entry, nil
	}
	if server, text, ok := namespace.SplitPrefixURI(ref); ok {
		if it := v.templates.owned[ownName{server, text}]; it != nil && v.entry(it) != nil {
			return it.entry, nil
		}
	}
	owners := v.templates.original[ref]
	if v.scope != nil {
		owners = slices.DeleteFunc(slices.Clone(owners), func(it *item) bool { return v.entry(it) == nil })
	}
	switch len(owners) {
	case 0:
	case 1:
		return owners[0].entry, nil
	default:
		f := &protocol.Fault{Name: protocol.AmbiguousURI, URI: clip(ref, maxShown), Candidates: v.publics(owners)}
		f.Message = "Several servers have " + f.URI + "; use one of: " + strings.Join(f.Candidates, " ")
		return nil, f
	}
	found, fault := v.promised(ref)
	if fault == nil && found.Entry == nil { // there is nothing to complete
		return nil, protocol.NoResource(ref)
	}
	return found.Entry, fault
}

// PublicURI returns how a URI of the server's is written to clients: as it is listed; a template's expansion in the
// style of this catalog if Resource finds the way back; else in style prefix, which always names the server.
func (v *View) PublicURI(server *Server, original string) string {
	public, _ := v.publicURI(server, original, v.search())
	return public
}

// publicURI is PublicURI; without q, or when that is used up, what is not listed gets style prefix. It reports whether it searched.
func (v *View) publicURI(server *Server, original string, q *search) (public string, searched bool) {
	if v.pass {
		return original, false
	}
	if it := v.resources.owned[ownName{server.Name, original}]; it != nil && v.entry(it) != nil {
		return it.public, false
	}
	prefixed := namespace.PrefixURI(server.Name, original)
	styled := original
	switch style := v.snapshot.naming.URIStyle; {
	case style == styleUnderscore && q != nil:
		styled = namespace.UnderscoreID(server.Name, original)
	case style == styleOriginal && q != nil:
	default:
		return prefixed, false
	}
	if f, fault := q.resource(styled); fault == nil && f.Server.Name == server.Name && f.Original == original {
		return styled, true
	}
	return prefixed, true
}

package catalog

import (
	"cmp"
	"slices"
	"strings"

	"goblin-actor/protocol"
	"goblin-actor/protocol/namespace"
)

// Found is the result of resolving a URI.
type Found struct {
	Server   *Server
	Original string // the URI that the server knows
	Entry    *Entry // the listed resource or the matching template; nil if there is neither
	Unlisted bool   // the URI is valid only if the server has mentioned it; the server's pool checks this
}

// Resource resolves a URI, in this order: the public URI or alternative spelling of a listed resource; in style prefix,
// any URI that its server owns; in style underscore, an expansion of a template; a server's own URI, if exactly one
// server owns it; and an unlisted URI whose server is known, if the configuration allows that (unlisted.go).
func (v *View) Resource(uri string) (Found, *protocol.Fault) {
	q := v.search()
	found, fault := q.resource(uri)
	if fault != nil && fault.Name == protocol.ResourceNotFound && !q.hidesItem {
		if f, ok := q.unlisted(uri); ok {
			return f, nil
		}
	}
	return found, fault
}

// listedOnly resolves a URI that a list, a template or a tool's link contains.
func (v *View) listedOnly(uri string) (Found, *protocol.Fault) { return v.search().resource(uri) }

func (q *search) resource(uri string) (Found, *protocol.Fault) {
	v := q.view
	if it := v.resources.spelled(uri); it != nil {
		if v.entry(it) == nil {
			return Found{}, q.hide(uri)
		}
		return Found{Server: it.server, Original: it.own, Entry: it.entry}, nil
	}
	if server, original, ok := namespace.SplitPrefixURI(uri); ok {
		if f, ok := q.owns(server, original); ok {
			return f, nil
		}
		if v.outside(server) || v.scope != nil && v.resources.owned[ownName{server, original}] != nil {
			return Found{}, q.hide(uri)
		}
	}
	if f, ok := q.underscored(uri); ok {
		return f, nil
	}
	return q.raw(uri)
}

// owns resolves a server's own URI: one that the server lists, that one of its tools links to, or that one of its templates matches.
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

// underscored resolves an expansion of a template in style underscore, if it has only one meaning.
func (q *search) underscored(id string) (Found, bool) {
	server, _, ok := strings.Cut(id, "_")
	if !ok || !namespace.IsSlug(server) {
		return Found{}, false
	}
	for _, it := range q.view.templates.ranked {
		if it.server.Name != server || q.view.entry(it) == nil || !q.spend(it.server, it.template.EffortOfID(id)) {
			continue
		}
		if original, ok := it.template.ExpandUnderscore(server, id); ok {
			return q.owns(server, original)
		}
	}
	return Found{}, false
}

// raw resolves a server's own URI. A template listed under its own text (style original) takes precedence over other
// templates. Otherwise there must be one owner.
func (q *search) raw(uri string) (Found, *protocol.Fault) {
	v := q.view
	var owners []Found
	for _, it := range v.resources.original[uri] {
		if v.entry(it) != nil {
			owners = append(owners, Found{Server: it.server, Original: uri, Entry: it.entry})
		}
	}
	if len(owners) == 0 {
		if it := q.templateFor(uri); it != nil {
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
		return Found{}, q.notFound(uri)
	case 1:
		return owners[0], nil
	}
	return Found{}, ambiguous(uri, owners)
}

// templateFor returns the template that is listed under its own text and matches the URI, or nil.
func (q *search) templateFor(uri string) *item {
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

// Template resolves a completion reference: a template by its public text, by the alternative spelling or, if only
// one server has it, by its own text; or a resource that is listed or matches a template.
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
	found, fault := v.listedOnly(ref)
	if fault == nil && found.Entry == nil { // the URI has no template to complete
		return nil, protocol.NoResource(ref)
	}
	return found.Entry, fault
}

// PublicURI returns the URI that clients use for a server's URI: the listed one; an expansion of a template in the
// catalog's style, if Resource resolves it; or else one in style prefix, which always names the server. In a view that
// passes names through, it is the server's URI.
func (v *View) PublicURI(server *Server, original string) string {
	public, _ := v.publicURI(server, original, v.search())
	return public
}

// publicURI implements PublicURI with the budget of q. If q is nil or its budget is used up, an unlisted URI gets style
// prefix. It reports whether it searched.
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

package catalog

import (
	"cmp"
	"slices"
	"strings"

	"goblin-actor/protocol"
)

// Found is where a URI leads.
type Found struct {
	Server   *Server
	Original string // the URI to send to the server
	Entry    *Entry // the resource listed under it, or the template it matches
}

// Resource finds where a URI leads (contract.md section 4), in this order: a listed resource's public URI or its
// other spelling; an expansion of a template in either spelling; the server's own URI, if exactly one server owns
// it. Nothing that no list and no template promises is found: no server is asked on suspicion.
func (v *View) Resource(uri string) (Found, *protocol.Fault) {
	if it := v.resources.spelled(uri); it != nil {
		return Found{it.server, it.own, it.entry}, nil
	}
	if server, original, ok := protocol.SplitPrefixURI(uri); ok {
		if f, ok := v.owns(server, original); ok {
			return f, nil
		}
	}
	if f, ok := v.underscored(uri); ok {
		return f, nil
	}
	return v.raw(uri)
}

// owns finds a URI of the server's own: listed there, or matched by one of its templates.
func (v *View) owns(server, original string) (Found, bool) {
	if it := v.resources.owned[ownName{server, original}]; it != nil {
		if it.entry == nil {
			return Found{}, false
		}
		return Found{it.server, original, it.entry}, true
	}
	for _, it := range v.templates.ranked {
		if it.server.Name == server && it.matches(original) {
			return Found{it.server, original, it.entry}, true
		}
	}
	return Found{}, false
}

// matches reports whether the URI is an expansion of the template, and one its server's rules let through.
func (it *item) matches(original string) bool {
	return it.template.Match(original) && !blocked(&it.server.Rules.ResourceFilter, original)
}

// underscored finds an expansion of a template in style underscore; only if what it stands for is certain.
func (v *View) underscored(id string) (Found, bool) {
	server, _, ok := strings.Cut(id, "_")
	if !ok || !protocol.IsSlug(server) {
		return Found{}, false
	}
	for _, it := range v.templates.ranked {
		if it.server.Name != server {
			continue
		}
		if original, ok := it.template.ExpandUnderscore(server, id); ok {
			return v.owns(server, original)
		}
	}
	return Found{}, false
}

// raw finds a server's own URI. A template listed under its own text (style original) takes its expansions before
// anybody else; otherwise there must be one owner.
func (v *View) raw(uri string) (Found, *protocol.Fault) {
	var owners []Found
	if listed := v.resources.original[uri]; len(listed) > 0 {
		for _, it := range listed {
			owners = append(owners, Found{it.server, uri, it.entry})
		}
	} else if it := v.taker(uri); it != nil {
		return Found{it.server, uri, it.entry}, nil
	}
	for _, it := range v.templates.ranked {
		known := func(f Found) bool { return f.Server == it.server }
		if slices.ContainsFunc(owners, known) || v.resources.owned[ownName{it.server.Name, uri}] != nil || !it.matches(uri) {
			continue
		}
		owners = append(owners, Found{it.server, uri, it.entry})
	}
	switch len(owners) {
	case 0:
		return Found{}, protocol.NoResource(clip(uri, maxShown))
	case 1:
		return owners[0], nil
	}
	return Found{}, ambiguous(uri, owners)
}

// taker returns the template listed under its own text that takes the URI.
func (v *View) taker(uri string) *item {
	for _, it := range v.templates.ranked {
		if it.public == it.own && v.resources.owned[ownName{it.server.Name, uri}] == nil && it.matches(uri) {
			return it
		}
	}
	return nil
}

func ambiguous(uri string, owners []Found) *protocol.Fault {
	slices.SortStableFunc(owners, func(a, b Found) int { return cmp.Compare(a.Server.Order, b.Server.Order) })
	f := &protocol.Fault{Name: protocol.AmbiguousURI, URI: clip(uri, maxShown)}
	for _, o := range owners[:min(len(owners), maxCandidates)] {
		public := protocol.PrefixURI(o.Server.Name, uri)
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
		return it.entry, nil
	}
	if server, text, ok := protocol.SplitPrefixURI(ref); ok {
		if it := v.templates.owned[ownName{server, text}]; it != nil && it.entry != nil {
			return it.entry, nil
		}
	}
	switch owners := v.templates.original[ref]; len(owners) {
	case 0:
	case 1:
		return owners[0].entry, nil
	default:
		f := &protocol.Fault{Name: protocol.AmbiguousURI, URI: clip(ref, maxShown), Candidates: publics(owners)}
		f.Message = "Several servers have " + f.URI + "; use one of: " + strings.Join(f.Candidates, " ")
		return nil, f
	}
	found, fault := v.Resource(ref)
	return found.Entry, fault
}

// PublicURI returns how a URI of the server's is written to clients: as it is listed; a template's expansion in the
// style of this catalog if Resource finds the way back; else in style prefix, which always names the server.
func (v *View) PublicURI(server *Server, original string) string {
	public, _ := v.publicURI(server, original, true)
	return public
}

// publicURI is PublicURI; unless search is allowed what is not listed gets style prefix. It reports whether it searched.
func (v *View) publicURI(server *Server, original string, search bool) (public string, searched bool) {
	if v.pass {
		return original, false
	}
	if it := v.resources.owned[ownName{server.Name, original}]; it != nil && it.entry != nil {
		return it.public, false
	}
	prefixed := protocol.PrefixURI(server.Name, original)
	styled := original
	switch style := v.snapshot.naming.URIStyle; {
	case style == styleUnderscore && search:
		styled = protocol.UnderscoreID(server.Name, original)
	case style == styleOriginal && search:
	default:
		return prefixed, false
	}
	if f, fault := v.Resource(styled); fault == nil && f.Server.Name == server.Name && f.Original == original {
		return styled, true
	}
	return prefixed, true
}

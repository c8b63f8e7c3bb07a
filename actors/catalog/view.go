package catalog

import (
	"bytes"
	"cmp"
	"slices"

	"goblin-actor/protocol"
)

// View is the part of a Snapshot that a client sees, under the names it sees. It is immutable and safe for concurrent
// use.
type View struct {
	Generation [protocol.ItemKinds]uint64 // changes when this kind changes in the view; for the whole catalog and for projects it is the Snapshot.Version of that change

	snapshot     *Snapshot
	pass         bool // names, URIs and order are the server's own, and so are the bytes for clients of the server's era
	servers      []*Server
	scope        *scope                      // nil = every entry is shown
	shown        [protocol.ItemKinds]marks   // with a scope: indexes in ordered; nil = all
	beyond       *View                       // the same view without the restrictions of the key's rights; nil = rights do not restrict this view
	report       *View                       // the view with the policy enforced; nil = the policy is enforced anyway, or there is none
	ordered      [protocol.ItemKinds][]*item // the whole catalog's items with entries, in list order
	lists        [protocol.ItemKinds]*list
	meta         [protocol.ItemKinds]*list // lists for clients if they differ from the view's items; else nil
	names        [2]names                  // Tools, Prompts
	resources    uris
	templates    uris
	linked       map[ownName][]*item // unlisted pages linked by tools, by server and URI, with those tools
	silent       [protocol.ItemKinds][]*Server
	instructions string
}

// viewOrder puts link targets before the items that link to them: tools link to public URIs of resources.
var viewOrder = [...]protocol.ItemKind{protocol.Resources, protocol.Templates, protocol.Tools, protocol.Prompts}

// build builds the view of the whole catalog, reusing unchanged entries of previous.
func (s *Snapshot) build(previous *Snapshot) *View {
	v := &View{snapshot: s, servers: s.servers, pass: s.passes(), linked: map[ownName][]*item{}}
	for _, kind := range viewOrder {
		items, before := s.items(kind, previous)
		switch {
		case v.pass:
		case kind == protocol.Tools || kind == protocol.Prompts:
			taken, warnings := nameAll(items, before, s.naming, previous.holdings(kind, s.naming))
			v.names[kind-protocol.Tools].public = taken
			s.warnings = append(s.warnings, warnings...)
		default:
			s.warnings = append(s.warnings, nameURIs(items, before, s.naming, previous.holdings(kind, s.naming))...)
		}
		for i, it := range items {
			if o := s.byName[it.server.Name]; !o.hides(kind, it.own) {
				v.makeEntry(it, before[i], previous)
				o.counts[kind]++
			}
		}
		v.fill(kind, items, previous)
	}
	v.findSilent()
	v.instructions = instructions(v.introduction(), v.servers, v.pass)
	return v
}

// buildServer builds the view of one server with its own names, URIs, bytes and order. If within is limited to a project
// or to rights, the new view shows only items that within shows, and its generations also change with those of within.
func (s *Snapshot) buildServer(o *offer, within *View) *View {
	v := &View{snapshot: s, servers: []*Server{o.server}, pass: true, Generation: o.generation, linked: map[ownName][]*item{}}
	if within.limited() {
		v.scope = within.scope
	}
	for _, kind := range viewOrder {
		items := itemsOf(o, kind)
		for _, it := range items {
			it.name = it.own
			if !o.hides(kind, it.own) && within.showsOwn(kind, o.server.Name, it.own) {
				v.makeEntry(it, nil, nil)
			}
		}
		v.fill(kind, items, nil)
		if within.limited() {
			v.Generation[kind] = mix(v.Generation[kind], within.Generation[kind])
		}
	}
	v.findSilent()
	v.instructions = instructions("", v.servers, v.pass)
	return v
}

// passes reports whether the whole catalog is a single server's, passed on unchanged.
func (s *Snapshot) passes() bool {
	return len(s.servers) == 1 && s.naming.Namespace.Mode == modeNever && s.naming.URIStyle == styleOriginal &&
		!s.naming.MetaTools && !renames(s.servers[0])
}

// makeEntry sets the item's entry, reusing the entry of the item old if it is equal. The item old may be nil.
func (v *View) makeEntry(it, old *item, previous *Snapshot) {
	it.links = v.publicLinks(it)
	same := old != nil && old.entry != nil && old.public == it.public && old.other == it.other && slices.Equal(old.links, it.links) &&
		old.server.Name == it.server.Name && !previous.main.pass && !v.pass
	if same && old.server == it.server {
		it.entry = old.entry
		return
	}
	defer func() { it.entry.since = v.changedIn(it, previous) }()
	it.entry = &Entry{Kind: it.kind, Public: it.public, Original: it.own, Server: it.server, Source: it.item.Raw, item: it, pass: v.pass}
	switch {
	case !same || old.server.Protocol != it.server.Protocol:
	case old.server.State == it.server.State:
		it.entry.texts.Store(old.entry.texts.Load())
	default:
		it.entry.onlyStateDiffers = true
	}
}

// other returns the item for clients whose era differs from the server's. It returns nil if the item is the same for
// them, or if the server's era is unknown.
func other(e *Entry, text []byte) []byte {
	as := protocol.ModernItem
	switch {
	case e.Server.Protocol == "":
		return nil
	case protocol.IsModern(e.Server.Protocol):
		as = protocol.LegacyItem
	}
	if raw := as(e.Kind, text); !bytes.Equal(raw, text) {
		return raw
	}
	return nil
}

// of returns the item for clients of an era.
func (e *Entry) of(era protocol.Era) []byte {
	t := e.written()
	if t.other != nil && protocol.IsModern(e.Server.Protocol) != (era == protocol.EraModern) {
		return t.other
	}
	return t.raw
}

// bindings compiles a tool's x-mcp-header annotations. It returns nil if there are none, or if they are invalid.
func bindings(e *Entry) *protocol.Bindings {
	if e.Kind != protocol.Tools || !bytes.Contains(e.Source, []byte("x-mcp-header")) {
		return nil
	}
	b, err := protocol.CompileBindings(e.Source)
	if err != nil {
		return nil
	}
	return b
}

// fill adds the items of a kind to the view's list and tables.
func (v *View) fill(kind protocol.ItemKind, items []*item, previous *Snapshot) {
	ordered := slices.DeleteFunc(slices.Clone(items), func(it *item) bool { return it.entry == nil })
	if !v.pass {
		slices.SortFunc(ordered, func(a, b *item) int { return cmp.Compare(a.public, b.public) })
	}
	entries := make([]*Entry, len(ordered))
	for i, it := range ordered {
		it.place, entries[i] = i, it.entry
	}
	var old *list
	if previous != nil {
		old = previous.main.lists[kind]
	}
	v.ordered[kind], v.lists[kind] = ordered, old.following(kind, entries, !v.pass, v.snapshot.naming.PageSize)
	v.listMeta(kind)
	switch kind {
	case protocol.Tools, protocol.Prompts:
		n := &v.names[kind-protocol.Tools]
		*n = newNames(items, n.public)
	case protocol.Resources:
		v.resources = newURIs(items)
	case protocol.Templates:
		v.templates = newURIs(items)
	}
}

// Snapshot returns the snapshot the view belongs to.
func (v *View) Snapshot() *Snapshot { return v.snapshot }

// Servers returns the servers in view, in the order of the configuration. The caller must not modify the slice.
func (v *View) Servers() []*Server { return v.servers }

// PassThrough reports whether names and URIs, and for clients of the server's era the items, are the server's own, byte
// for byte.
func (v *View) PassThrough() bool { return v.pass }

// Entries returns the items of a kind in list order, including those that are not listed. The caller must not modify the
// slice.
func (v *View) Entries(kind protocol.ItemKind) []*Entry { return v.lists[kind].entries }

// Page returns the result of a list request of a client of that era. The caller must not modify it. The cursor ""
// requests the first page. For an invalid cursor, Page returns an InvalidParams fault.
func (v *View) Page(kind protocol.ItemKind, era protocol.Era, cursor string) ([]byte, *protocol.Fault) {
	return v.listed(kind).page(era, cursor)
}

// Instructions returns the configured instructions, followed by those of the servers in view, limited to 8 KiB in
// total. For a view of one server (Key.Server) it returns only that server's.
func (v *View) Instructions() string { return v.instructions }

package catalog

import (
	"maps"
	"math"
	"reflect"
	"slices"

	"goblin-actor/internal/config"
	"goblin-actor/internal/filter"
	"goblin-actor/protocol"
	"goblin-actor/protocol/namespace"
)

// A project is a view of the whole catalog with some of its items veiled. It has no names and tables of its own: every
// spelling is resolved in the whole catalog first, and what it means is found or not. So nothing is called differently in a
// project, no spelling falls through to another item, and a project costs a bit for each item.

// scope is what a project lets through, and what of that some roles permit. Immutable, and the same one as long as the project's rules are.
type scope struct {
	rules  config.Project
	judge  *filter.Judge // of resources and templates, by public URI; nil = it lets all through
	rights *rights       // nil = all is permitted
	parts  []*View       // of several projects together; else nil, as are the others of those
}

// scopeOf returns the scope of the project's rules, the one of the previous snapshot if they are the same.
func scopeOf(rules *config.Project, old *View) *scope {
	if old != nil && reflect.DeepEqual(old.scope.rules, *rules) {
		return old.scope
	}
	return &scope{rules: *rules, judge: filter.New(&rules.Resources)}
}

// holds reports whether the server is part of the project: it is named, or it carries all the
// labels. A project that says neither holds all servers. The gateway's own are part of every project.
func (p *scope) holds(s *Server) bool {
	named, labels := p.rules.Servers, p.rules.Labels
	switch {
	case s.Internal, len(named)+len(labels) == 0:
		return true
	case slices.Contains(named, s.Name):
		return true
	}
	return len(labels) > 0 && s.Rules.Carries(labels)
}

// hides reports whether the project's rules keep an item of one of its servers from clients, by its public name or URI. Of the
// gateway's own items they keep only what they deny.
func (p *scope) hides(it *item) bool {
	f := &p.rules.Tools
	switch it.kind {
	case protocol.Tools:
	case protocol.Prompts:
		f = &p.rules.Prompts
	default:
		uris := []string{it.public, namespace.PrefixURI(it.server.Name, it.own)}
		if it.other != "" {
			uris = append(uris, it.other)
		}
		return p.judge.HidesAll(uris, it.server.Internal)
	}
	if it.server.Internal {
		return filter.Blocked(f, it.public)
	}
	return filter.Hides(f, it.public)
}

// narrows reports whether the project's rules keep back anything of a server that is part of it.
func (p *scope) narrows() bool {
	return slices.ContainsFunc([]config.Filter{p.rules.Tools, p.rules.Prompts, p.rules.Resources}, func(f config.Filter) bool {
		return len(f.Allow)+len(f.Deny)+len(f.Disabled) > 0
	})
}

// marks is a set of places in a list.
type marks []uint64

func (m marks) add(place int)      { m[place/64] |= 1 << (place % 64) }
func (m marks) has(place int) bool { return m[place/64]&(1<<(place%64)) != 0 }

// buildProjects makes the view of every project. What has not changed in one is taken over from the previous snapshot.
func (s *Snapshot) buildProjects(previous *Snapshot, sources []Source, projects []config.Project) {
	s.projects = make(map[string]*View, len(projects))
	for i := range projects {
		rules := &projects[i]
		if s.projects[rules.Name] == nil {
			s.projects[rules.Name] = s.buildProject(previous, sources, rules)
		}
	}
}

func (s *Snapshot) buildProject(previous *Snapshot, sources []Source, rules *config.Project) *View {
	var old *View
	if previous != nil {
		old = previous.projects[rules.Name]
	}
	whole := s.main
	v := &View{
		snapshot: s, pass: whole.pass, scope: scopeOf(rules, old),
		ordered: whole.ordered, names: whole.names, resources: whole.resources, templates: whole.templates, linked: whole.linked,
	}
	for _, server := range s.servers {
		if v.scope.holds(server) {
			v.servers = append(v.servers, server)
		}
	}
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		v.veil(kind, old)
		v.listMeta(kind)
		switch {
		case old == nil, !sameEntries(old.listed(kind).entries, v.listed(kind).entries), v.asked(kind, previous, sources):
			v.Generation[kind] = s.Version
		default:
			v.Generation[kind] = old.Generation[kind]
		}
	}
	v.findSilent()
	v.instructions = instructions(v.introduction(), v.servers, v.pass)
	return v
}

// veil decides which items of a kind the project shows, and lists them.
func (v *View) veil(kind protocol.ItemKind, old *View) {
	whole := v.snapshot.main
	if old != nil && old.scope == v.scope && slices.Equal(old.servers, v.servers) && old.snapshot.main.lists[kind] == whole.lists[kind] {
		v.shown[kind], v.lists[kind] = old.shown[kind], old.lists[kind] // nothing has changed in any project
		return
	}
	held := make(map[*Server]bool, len(v.servers)+1)
	held[v.snapshot.ours] = true
	for _, server := range v.servers {
		held[server] = true
	}
	decided := decidedBy(old, v.scope, kind)
	v.shown[kind] = make(marks, (len(whole.ordered[kind])+63)/64)
	var entries []*Entry
	for _, it := range whole.ordered[kind] {
		shown, known := decided.of(it.entry)
		if shown || !known && held[it.server] && !v.scope.hides(it) {
			v.shown[kind].add(it.place)
			entries = append(entries, it.entry)
		}
	}
	var list *list
	if old != nil {
		list = old.lists[kind]
	}
	v.lists[kind] = list.following(kind, entries, !v.pass, v.snapshot.naming.PageSize)
}

// decisions are what a project showed of the catalog before, to be read in the order of that: what is still the same entry need
// not be decided again, as rules of many patterns for many items take a while. nil = nothing is known.
type decisions struct {
	entries []*Entry
	shown   marks
	at      int
}

func decidedBy(old *View, now *scope, kind protocol.ItemKind) *decisions {
	if old == nil || old.scope != now || old.pass { // a list that passes through is in no order
		return nil
	}
	return &decisions{entries: old.snapshot.main.lists[kind].entries, shown: old.shown[kind]}
}

// of returns what was decided of an entry. Entries are asked for in the order of their public names.
func (d *decisions) of(e *Entry) (shown, known bool) {
	if d == nil {
		return false, false
	}
	for d.at < len(d.entries) && d.entries[d.at] != e && d.entries[d.at].Public < e.Public {
		d.at++
	}
	if d.at == len(d.entries) || d.entries[d.at] != e {
		return false, false
	}
	d.at++
	return d.shown.has(d.at - 1), true
}

// asked reports whether a server of the project insists that its list has changed although it has not: clients are told of that
// as of any change. If the list did change, and the project shows nothing of it, they are not.
func (v *View) asked(kind protocol.ItemKind, previous *Snapshot, sources []Source) bool {
	for _, source := range sources {
		now, was := v.snapshot.offer(source.Server.Name), previous.offer(source.Server.Name)
		if source.Asked[kind] && !v.snapshot.naming.OnlyMeta && now != nil && was != nil && now.lots[kind] == was.lots[kind] && slices.Contains(v.servers, now.server) &&
			slices.ContainsFunc(v.lists[kind].entries, func(e *Entry) bool { return e.Server == now.server }) {
			return true
		}
	}
	return false
}

// entry returns what clients of the view see of an item; nil = nothing.
func (v *View) entry(it *item) *Entry {
	if it.entry == nil || v.shown[it.kind] != nil && !v.shown[it.kind].has(it.place) {
		return nil
	}
	return it.entry
}

// showsOwn reports whether the view shows a server's item of that own name; without one it is shown.
func (v *View) showsOwn(kind protocol.ItemKind, server, own string) bool {
	if v == nil {
		return true
	}
	name := ownName{server, own}
	it := v.resources.owned[name]
	switch kind {
	case protocol.Tools, protocol.Prompts:
		it = v.names[kind-protocol.Tools].owned[name]
	case protocol.Templates:
		it = v.templates.owned[name]
	}
	return it != nil && v.entry(it) != nil
}

// admits reports whether clients of the view may ask for a URI that is not listed, of a server in view. template is the text
// of what promises it; "" = nothing does.
func (v *View) admits(server *Server, template, original string) bool {
	switch {
	case v.scope == nil:
		return true
	case v.scope.parts != nil:
		return slices.ContainsFunc(v.scope.parts, func(part *View) bool { return part.Has(server.Name) && part.admits(server, template, original) })
	case v.scope.judge == nil && v.scope.rights == nil:
		return true
	}
	if template != "" {
		template = namespace.PrefixURI(server.Name, template)
	}
	forms := []string{namespace.PrefixURI(server.Name, original)}
	switch v.snapshot.naming.URIStyle {
	case styleOriginal:
		forms = append(forms, original)
	case styleUnderscore:
		forms = append(forms, namespace.UnderscoreID(server.Name, original))
	}
	return v.scope.judge.AdmitsAll(template, forms, server.Internal) && v.scope.rights.admits(server, template, forms)
}

// outside reports whether a server is there, but not in view.
func (v *View) outside(server string) bool {
	return v.scope != nil && v.snapshot.byName[server] != nil && v.server(server) == nil
}

// Has reports whether the server is in view.
func (v *View) Has(server string) bool { return v.server(server) != nil }

// Tells reports whether clients of the view may hear that a resource of the server's has changed: not if their project has lost
// it since they subscribed.
func (v *View) Tells(server, original string) bool {
	if v.scope == nil {
		return true
	}
	s := v.server(server)
	if s == nil {
		return false
	}
	if it := v.resources.owned[ownName{server, original}]; it != nil {
		return v.entry(it) != nil
	}
	if v.admits(s, "", original) {
		return true
	}
	_, promised := v.search().owns(server, original)
	return promised
}

// HasProject reports whether the key's project is there for whoever has its rights.
func (s *Snapshot) HasProject(k Key) bool {
	return s.projects[k.Project] != nil && s.policyOf(k).Counts(k.Rights, k.Project)
}

// Projects returns the names of the projects in order.
func (s *Snapshot) Projects() []string { return slices.Sorted(maps.Keys(s.projects)) }

// SameProjects reports whether the projects are those of old, and show the same, to whoever has which rights.
func (s *Snapshot) SameProjects(old *Snapshot) bool {
	return s.naming.Policy == old.naming.Policy &&
		maps.EqualFunc(s.projects, old.projects, func(a, b *View) bool { return a.Generation == b.Generation })
}

// Nothing returns the view of a project that is no more, and of whoever has no role: it holds nothing, and differs from all there ever was.
func (s *Snapshot) Nothing() *View {
	v := &View{snapshot: s, scope: &scope{}}
	for kind := range v.lists {
		v.shown[kind] = marks{}
		v.lists[kind] = newList(protocol.ItemKind(kind), nil, true, 1)
		v.Generation[kind] = math.MaxUint64
	}
	return v
}

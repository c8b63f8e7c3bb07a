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

// A project is a view of the whole catalog that hides some items. It has no names or tables of its own: every
// spelling is resolved in the whole catalog first, and the project then shows the result or not. So items have the
// same names in every project, no spelling of a hidden item refers to another one, and a project needs little memory:
// one bit per item, and its lists.

// scope is what a project includes, and what roles permit of that. It is immutable, and reused while the project's rules
// are the same.
type scope struct {
	rules  config.Project
	judge  *filter.Judge // filters resources and templates by public URI; nil = all are included
	rights *rights       // nil = everything is permitted
	parts  []*View       // the projects of a union; the other fields are zero then
}

// scopeOf returns the scope of the project's rules, reusing the previous snapshot's if they are the same.
func scopeOf(rules *config.Project, old *View) *scope {
	if old != nil && reflect.DeepEqual(old.scope.rules, *rules) {
		return old.scope
	}
	return &scope{rules: *rules, judge: filter.New(&rules.Resources)}
}

// holds reports whether the server is part of the project: the project names it, or it carries all of the project's
// labels. A project without names and labels includes all servers. The gateway's own server is part of every project.
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

// hides reports whether the project's rules hide an item of one of its servers, by its public name or URI. The gateway's
// own items are hidden only by deny rules.
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

// narrows reports whether the project has rules that can hide items of a server that is part of it.
func (p *scope) narrows() bool {
	return slices.ContainsFunc([]config.Filter{p.rules.Tools, p.rules.Prompts, p.rules.Resources}, func(f config.Filter) bool {
		return len(f.Allow)+len(f.Deny)+len(f.Disabled) > 0
	})
}

// marks is a bit set of list indexes.
type marks []uint64

func (m marks) add(place int)      { m[place/64] |= 1 << (place % 64) }
func (m marks) has(place int) bool { return m[place/64]&(1<<(place%64)) != 0 }

// buildProjects builds the view of every project, reusing unchanged parts of the previous snapshot's.
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
		v.selectItems(kind, old)
		v.listMeta(kind)
		switch {
		case old == nil, !sameEntries(old.listed(kind).entries, v.listed(kind).entries), v.announces(kind, previous, sources):
			v.Generation[kind] = s.Version
		default:
			v.Generation[kind] = old.Generation[kind]
		}
	}
	v.findSilent()
	v.instructions = instructions(v.introduction(), v.servers, v.pass)
	return v
}

// selectItems decides which items of a kind the project shows, and lists them.
func (v *View) selectItems(kind protocol.ItemKind, old *View) {
	whole := v.snapshot.main
	if old != nil && old.scope == v.scope && slices.Equal(old.servers, v.servers) && old.snapshot.main.lists[kind] == whole.lists[kind] {
		v.shown[kind], v.lists[kind] = old.shown[kind], old.lists[kind] // nothing has changed
		return
	}
	held := make(map[*Server]bool, len(v.servers)+1)
	held[v.snapshot.internal] = true
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

// decisions holds what a project showed in the previous snapshot, to be read in that snapshot's order. The decision
// about an unchanged entry is reused, since matching many items against many patterns is slow. nil = no decisions.
type decisions struct {
	entries []*Entry
	shown   marks
	at      int
}

func decidedBy(old *View, now *scope, kind protocol.ItemKind) *decisions {
	if old == nil || old.scope != now || old.pass { // a list that passes through is not sorted
		return nil
	}
	return &decisions{entries: old.snapshot.main.lists[kind].entries, shown: old.shown[kind]}
}

// of returns the decision about an entry. It must be called in the order of public names.
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

// announces reports whether a server of the project has announced a change although its list is equal, and the project
// shows items of that list. Clients are notified of that, unless only the meta tools are listed. They are not notified
// if the list has changed only outside of the project.
func (v *View) announces(kind protocol.ItemKind, previous *Snapshot, sources []Source) bool {
	for _, source := range sources {
		now, was := v.snapshot.offer(source.Server.Name), previous.offer(source.Server.Name)
		if source.Announced[kind] && !v.snapshot.naming.OnlyMeta && now != nil && was != nil && now.lists[kind] == was.lists[kind] && slices.Contains(v.servers, now.server) &&
			slices.ContainsFunc(v.lists[kind].entries, func(e *Entry) bool { return e.Server == now.server }) {
			return true
		}
	}
	return false
}

// entry returns an item's entry if the view shows it; else nil.
func (v *View) entry(it *item) *Entry {
	if it.entry == nil || v.shown[it.kind] != nil && !v.shown[it.kind].has(it.place) {
		return nil
	}
	return it.entry
}

// showsOwn reports whether the view shows a server's item by its own name. It returns true for a nil view, and false for an
// item that the catalog does not contain.
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

// admits reports whether clients of the view may request an unlisted URI of a server in view. The parameter template is the
// text of the template that the URI matches, or "".
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

// outside reports whether a server exists, but is not in view.
func (v *View) outside(server string) bool {
	o := v.snapshot.byName[server]
	return v.scope != nil && o != nil && !o.server.isMember() && v.server(server) == nil
}

// Has reports whether the server is in view.
func (v *View) Has(server string) bool { return v.server(server) != nil }

// MayNotify reports whether clients of the view may be notified of a change of the server's resource. It returns
// false if the view has stopped showing the resource since they subscribed.
func (v *View) MayNotify(server, original string) bool {
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

// HasProject reports whether the key's project exists and the key's rights include it.
func (s *Snapshot) HasProject(k Key) bool {
	return s.projects[k.Project] != nil && s.policyOf(k).Counts(k.Rights, k.Project)
}

// Projects returns the sorted names of the projects.
func (s *Snapshot) Projects() []string { return slices.Sorted(maps.Keys(s.projects)) }

// SameProjects reports whether the projects are the same as in old, and show the same for all rights.
func (s *Snapshot) SameProjects(old *Snapshot) bool {
	return s.naming.Policy == old.naming.Policy &&
		maps.EqualFunc(s.projects, old.projects, func(a, b *View) bool { return a.Generation == b.Generation })
}

// Nothing returns the view of a removed project and of a principal without a role. It is empty and differs from every
// other view.
func (s *Snapshot) Nothing() *View {
	v := &View{snapshot: s, scope: &scope{}}
	for kind := range v.lists {
		v.shown[kind] = marks{}
		v.lists[kind] = newList(protocol.ItemKind(kind), nil, true, 1)
		v.Generation[kind] = math.MaxUint64
	}
	return v
}

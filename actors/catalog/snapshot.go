package catalog

import (
	"bytes"
	"cmp"
	"slices"

	"goblin-actor/internal/config"
	"goblin-actor/internal/filter"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/policy"
	"goblin-actor/protocol"
)

// Source is what one server offers: the input of Build. Build keeps the slices, so the caller must not modify them
// afterwards. Passing the same slice again means that the list has not changed, and saves parsing it.
type Source struct {
	Server    *Server
	Items     [protocol.ItemKinds][][]byte // raw JSON objects, in the server's order
	Silent    [protocol.ItemKinds]bool     // the server does not announce changes to that list
	Announced [protocol.ItemKinds]bool     // the server announced a change: in views that show items of the list, it counts as changed even if it is equal
}

// Snapshot is the whole catalog at one moment. It is immutable and safe for concurrent use.
type Snapshot struct {
	Version    uint64                     // incremented by each Build
	Generation [protocol.ItemKinds]uint64 // Version in which this kind last changed

	naming   Naming
	servers  []*Server // in the order of the configuration, without disabled ones and the gateway's own
	internal *Server   // provides the meta tools; nil = none
	byName   map[string]*offer
	main     *View
	warnings []string

	projects map[string]*View
	infos    map[string][]byte // serverInfo by project, "" = without project

	derived *derived // views of single servers, of rights and of several projects
}

// offer is one server's part of a snapshot.
type offer struct {
	server     *Server
	lists      [protocol.ItemKinds]*parsedList
	items      [protocol.ItemKinds][]*item // in the whole catalog, in the order of the list
	judge      *filter.Judge               // filters its resources and templates
	counts     [protocol.ItemKinds]int
	silent     [protocol.ItemKinds]bool
	generation [protocol.ItemKinds]uint64 // Version in which the server's own view last changed
	announced  [protocol.ItemKinds]uint64 // Version in which the server last announced a change although the list was equal; 0 = never
}

// Build builds the snapshot that follows previous, which is nil for the first one. The order of the sources does not
// matter. The Generation of a kind increases if its content differs from previous, or if a server has announced a
// change of that kind, unless only the meta tools are listed. Disabled servers are omitted. For 10 000 tools it takes
// 50 ms from scratch, and 11 ms if the list of one of 20 servers has changed (2 shared cores, 2026).
func Build(previous *Snapshot, sources []Source, naming Naming, projects ...config.Project) *Snapshot {
	s := &Snapshot{Version: 1, naming: naming, byName: make(map[string]*offer, len(sources)), derived: newDerived(nil, len(sources))}
	if previous != nil {
		s.Version, s.Generation, s.derived = previous.Version+1, previous.Generation, newDerived(previous.derived, len(sources))
	}
	s.buildServerInfos(projects)
	s.take(previous, sources)
	s.main = s.build(previous)
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		changed := previous == nil || !sameEntries(previous.main.listed(kind).entries, s.main.listed(kind).entries)
		for _, source := range sources {
			o := s.byName[source.Server.Name]
			if o == nil || o.server != source.Server {
				continue
			}
			changed = changed || source.Announced[kind] && !naming.OnlyMeta && !o.server.isMember()
			o.generation[kind] = s.generationOf(previous, o, kind, source.Announced[kind])
			o.announced[kind] = s.announcedOf(previous, o, kind, source.Announced[kind])
		}
		if changed {
			s.Generation[kind] = s.Version
		}
	}
	s.main.Generation = s.Generation
	s.buildProjects(previous, sources, projects)
	return s
}

// unparsed is a list that has to be parsed.
type unparsed struct {
	offer *offer
	kind  protocol.ItemKind
	list  [][]byte
	old   *parsedList // previous list of the server; nil = none
}

// take sorts the sources and parses their lists, reusing the lists that previous has already parsed.
func (s *Snapshot) take(previous *Snapshot, sources []Source) {
	var jobs []unparsed
	items := 0
	for _, source := range sources {
		name := source.Server.Name
		if source.Server.Rules.Disabled || s.byName[name] != nil || source.Server.Internal && !s.naming.MetaTools {
			continue
		}
		o := &offer{server: source.Server, silent: source.Silent, judge: filter.New(&source.Server.Rules.ResourceFilter)}
		old := previous.offer(name)
		for kind, list := range source.Items {
			switch {
			case old == nil:
				jobs = append(jobs, unparsed{o, protocol.ItemKind(kind), list, nil})
				items += len(list)
			case old.lists[kind].same(list, toolRulesOf(o.server)):
				o.lists[kind] = old.lists[kind]
			default:
				jobs = append(jobs, unparsed{o, protocol.ItemKind(kind), list, old.lists[kind]})
				items += len(list)
			}
		}
		s.byName[name] = o
		if source.Server.Internal {
			s.internal = o.server
			continue
		}
		if o.server.isMember() {
			continue
		}
		s.servers = append(s.servers, o.server)
	}
	spread(len(jobs), items, func(from, to int) {
		for _, j := range jobs[from:to] {
			j.offer.lists[j.kind] = parseList(j.offer.server, j.kind, j.list, j.old)
		}
	})
	slices.SortFunc(s.servers, func(a, b *Server) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Name, b.Name))
	})
}

func (s *Snapshot) offer(name string) *offer {
	if s == nil {
		return nil
	}
	return s.byName[name]
}

// generationOf returns the generation of a kind in the server's own view.
func (s *Snapshot) generationOf(previous *Snapshot, o *offer, kind protocol.ItemKind, announced bool) uint64 {
	old := previous.offer(o.server.Name)
	if old == nil || announced || !sameShown(old, o, kind) {
		return s.Version
	}
	return old.generation[kind]
}

// announcedOf returns the Version in which the server last announced a change although the list was equal, or 0.
func (s *Snapshot) announcedOf(previous *Snapshot, o *offer, kind protocol.ItemKind, announced bool) uint64 {
	old := previous.offer(o.server.Name)
	switch {
	case old == nil:
		return 0
	case announced && old.lists[kind] == o.lists[kind]:
		return s.Version
	}
	return old.announced[kind]
}

// sameShown reports whether two offers of a server show the same items in the same order.
func sameShown(a, b *offer, kind protocol.ItemKind) bool {
	if a.lists[kind] == b.lists[kind] && a.server == b.server {
		return true
	}
	shownOf := func(o *offer) []*parsed {
		return slices.DeleteFunc(slices.Clone(o.lists[kind].items), func(p *parsed) bool { return o.hides(kind, p.own) })
	}
	return slices.EqualFunc(shownOf(a), shownOf(b), func(x, y *parsed) bool {
		if x != y && !bytes.Equal(x.item.Raw, y.item.Raw) {
			return false
		}
		return protocol.IsModern(a.server.Protocol) == protocol.IsModern(b.server.Protocol) || sameForBothEras(kind, x.item.Raw)
	})
}

// sameForBothEras reports whether clients of both eras get an item unchanged, whichever era its server has.
func sameForBothEras(kind protocol.ItemKind, raw []byte) bool {
	return bytes.Equal(protocol.ModernItem(kind, raw), raw) && bytes.Equal(protocol.LegacyItem(kind, raw), raw)
}

// sameEntries reports whether two lists of consecutive snapshots are equal for clients. A cached list that its server
// has now confirmed counts as equal.
func sameEntries(a, b []*Entry) bool {
	return slices.EqualFunc(a, b, func(x, y *Entry) bool {
		if x == y {
			return true
		}
		return x.Public == y.Public && x.Server.Name == y.Server.Name &&
			(y.onlyStateDiffers || bytes.Equal(x.Raw(), y.Raw()) && bytes.Equal(x.Other(), y.Other()))
	})
}

// View returns the view of a client with this key. It returns false if the server does not exist, is disabled, is the
// gateway's own, stands for a member of a group (only other nodes see it), or is outside the project or the rights, or if the project does not exist for the key's rights. Views
// of single servers, of rights and of several projects are cached by key. For a view that is not cached, View blocks
// while it builds it, and while another goroutine builds a view of the same snapshot.
func (s *Snapshot) View(k Key) (*View, bool) {
	within, ok := s.part(k)
	if !ok || k.Server == "" {
		return within, ok
	}
	o := s.byName[k.Server]
	switch {
	case o == nil || o.server.Internal:
		return nil, false
	case o.server.isMember(): // it is not part of the whole catalog
		if k.Rights != identity.AllRights {
			return nil, false
		}
		return s.derived.view(k, func() *View { return s.buildServer(o, nil) }), true
	case within.limited() && !within.Has(k.Server):
		return nil, false
	}
	return s.derived.view(k, func() *View { return s.buildAlone(o, within) }), true
}

// part returns the view of a key without its server.
func (s *Snapshot) part(k Key) (*View, bool) {
	k.Server = ""
	switch {
	case k.Project != "":
		k.Projects = ""
		all := s.projects[k.Project]
		if all == nil || !s.policyOf(k).Counts(k.Rights, k.Project) {
			return nil, false
		}
		return s.permitted(all, k), true
	case k.Projects != "":
		return s.union(k), true
	}
	return s.permitted(s.main, k), true
}

// permitted returns the part of a view that the rights permit.
func (s *Snapshot) permitted(all *View, k Key) *View {
	p := s.policyOf(k)
	if !p.Restricts(k.Rights) {
		return all
	}
	return s.derived.view(k, func() *View { return s.buildRights(all, k, p) })
}

// policyOf returns the policy that applies to a key, or nil.
func (s *Snapshot) policyOf(k Key) *policy.Policy {
	if k.Policy != nil {
		return k.Policy
	}
	return s.naming.Policy
}

// buildAlone builds the view of one server, and that view's Beyond and Reported.
func (s *Snapshot) buildAlone(o *offer, within *View) *View {
	v := s.buildServer(o, within)
	if within.beyond != nil {
		v.beyond = s.buildServer(o, within.beyond)
	}
	switch {
	case within.report == nil:
	case within.report.Has(o.server.Name):
		v.report = s.buildServer(o, within.report)
	default:
		v.report = s.Nothing()
	}
	return v
}

// Whole returns the view of everything, for the gateway itself and its operators.
func (s *Snapshot) Whole() *View { return s.main }

// Project returns the view of a project regardless of rights, or nil if there is no such project.
func (s *Snapshot) Project(name string) *View { return s.projects[name] }

// Servers returns the enabled servers without the gateway's own, in the order of the configuration. The caller must not
// modify the slice.
func (s *Snapshot) Servers() []*Server { return s.servers }

// Server returns the server with that name, or nil if there is none or it is disabled.
func (s *Snapshot) Server(name string) *Server {
	if o := s.byName[name]; o != nil {
		return o.server
	}
	return nil
}

// Counts returns the number of the server's items of each kind in the whole catalog, after filters.
func (s *Snapshot) Counts(server string) [protocol.ItemKinds]int {
	if o := s.byName[server]; o != nil {
		return o.counts
	}
	return [protocol.ItemKinds]int{}
}

// Warnings returns problems of the catalog for the log, such as collisions and dropped items.
func (s *Snapshot) Warnings() []string { return s.warnings }

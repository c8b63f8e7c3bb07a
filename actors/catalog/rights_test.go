package catalog

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/internal/policy"
	"goblin-actor/protocol"
	"goblin-actor/protocol/namespace"

	"pgregory.net/rapid"
)

// under returns the naming with a policy of these roles.
func under(naming Naming, roles ...config.Role) Naming {
	naming.Policy = policy.Compile(config.Policy{Present: true, Mode: "enforce", Roles: roles})
	return naming
}

// of returns the view that belongs to the given rights.
func of(t testing.TB, s *Snapshot, rights string) *View {
	t.Helper()
	v, ok := s.View(Key{Rights: rights})
	if !ok {
		t.Fatalf("no view of rights %q", rights)
	}
	return v
}

func allows(globs ...string) config.Filter { return config.Filter{Allow: globs} }
func denies(globs ...string) config.Filter { return config.Filter{Deny: globs} }

// A view of rights lists exactly what the roles permit.
func TestRightsShow(t *testing.T) {
	files := server(t, "files", 0).tools("write", "delete").add(protocol.Tools,
		`{"name":"read","inputSchema":{},"annotations":{"readOnlyHint":true}}`, `{"name":"peek","inputSchema":{},"annotations":{"readOnlyHint":"true"}}`,
		`{"name":"both","inputSchema":{},"annotations":{"readOnlyHint":false,"readOnlyHint":true}}`)
	forge := server(t, "github", 1).tools("search", "delete").rules(func(s *config.Server) { s.Tools.Rename = map[string]string{"search": "find"} })
	own := server(t, "goblin", 2).tools("call", "describe")
	own.Server.Internal = true
	for _, tt := range []struct {
		name, rights string
		roles        []config.Role
		want         string
	}{
		{"a role without rules permits everything", "all", []config.Role{{Name: "all"}}, "files_both files_delete files_peek files_read files_write github_delete github_find goblin_call goblin_describe"},
		{"no role", "-", []config.Role{{Name: "all"}}, ""},
		{"no rights", "", []config.Role{{Name: "all"}}, ""},
		{"a role that does not exist", "gone", []config.Role{{Name: "all"}}, ""},
		{"servers", "r", []config.Role{{Name: "r", Servers: []string{"git*"}}}, "github_delete github_find goblin_call goblin_describe"},
		{"allow by public name", "r", []config.Role{{Name: "r", Tools: allows("*_delete")}}, "files_delete github_delete goblin_call goblin_describe"},
		{"allow by server and own name", "r", []config.Role{{Name: "r", Tools: allows("github/search", "files/*te")}}, "files_delete files_write github_find goblin_call goblin_describe"},
		{"deny by either name", "r", []config.Role{{Name: "r", Servers: []string{"github"}, Tools: denies("github_delete", "*/search")}}, "goblin_call goblin_describe"},
		{"deny beats allow in a role", "r", []config.Role{{Name: "r", Tools: config.Filter{Allow: []string{"*"}, Deny: []string{"*_delete", "goblin_call"}}, Servers: []string{"github"}}}, "github_find goblin_describe"},
		{"deny does not affect another role", "a,b", []config.Role{{Name: "a", Tools: denies("*")}, {Name: "b", Tools: allows("*_delete")}}, "files_delete github_delete goblin_call goblin_describe"},
		{"roles are not combined", "a,b", []config.Role{{Name: "a", Servers: []string{"files"}, Tools: allows("*_write")}, {Name: "b", Servers: []string{"github"}, Tools: allows("*_delete")}}, "files_write github_delete goblin_call goblin_describe"},
		{"read-only", "r", []config.Role{{Name: "r", ReadOnly: true}}, "files_read goblin_call goblin_describe"},
		{"read-only according to the configuration", "r", []config.Role{{Name: "r", ReadOnly: true, ReadOnlyTools: []string{"github/search"}}}, "files_read github_find goblin_call goblin_describe"},
		{"a role for another project", "r", []config.Role{{Name: "r", Projects: []string{"alpha"}}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := of(t, snapshot(under(standard(stylePrefix), tt.roles...), files, forge, own), tt.rights)
			if got := strings.Join(listed(t, v, protocol.Tools), " "); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// A server at which the roles cannot permit any item appears neither in the instructions nor among the servers.
func TestServersOfRights(t *testing.T) {
	files, forge := server(t, "files", 0).tools("a"), server(t, "github", 1).tools("b")
	files.Server.Instructions, forge.Server.Instructions = "read me", "secret words"
	s := snapshot(under(standard(stylePrefix),
		config.Role{Name: "narrow", Tools: allows("files_*"), Prompts: allows("files_*"), Resources: allows("resource://files/*")},
		config.Role{Name: "named", Servers: []string{"github"}, Tools: denies("*")}, config.Role{Name: "open", Tools: denies("*")},
		config.Role{Name: "watch", Tools: denies("*"), Prompts: denies("*"), Resources: denies("**")},
		config.Role{Name: "tools", Tools: allows("files_*"), Prompts: denies("*"), Resources: denies("*")}), files, forge, server(t, "empty", 2))
	for rights, want := range map[string]string{"narrow": "files", "named": "github", "open": "files github empty", "-": "", "watch": "", "tools": "files", "narrow,named": "files github"} {
		v := of(t, s, rights)
		var names []string
		for _, server := range v.Servers() {
			names = append(names, server.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("servers of %s: %s, want %s", rights, got, want)
		}
		if got := strings.Contains(v.Instructions(), "secret"); got != strings.Contains(want, "github") {
			t.Errorf("instructions for %s: %q", rights, v.Instructions())
		}
	}
}

// The rights of a key are evaluated in its project. The project does not exist for principals without a role in it.
func TestRightsInProjects(t *testing.T) {
	naming := under(standard(stylePrefix), config.Role{Name: "everywhere", Tools: allows("files_a")}, config.Role{Name: "inside", Projects: []string{"alpha"}})
	s := projects(nil, naming, []*offered{server(t, "files", 0).tools("a", "b"), server(t, "other", 1).tools("c")},
		config.Project{Name: "alpha", Servers: []string{"files"}}, config.Project{Name: "beta", Servers: []string{"other"}})
	for _, tt := range []struct {
		key  Key
		want string
	}{
		{Key{Rights: "everywhere"}, "files_a"}, {Key{Rights: "inside"}, ""},
		{Key{Rights: "inside", Project: "alpha"}, "files_a files_b"}, {Key{Rights: "everywhere", Project: "alpha"}, "files_a"},
		{Key{Rights: "inside", Project: "beta"}, "none"}, {Key{Rights: "-", Project: "alpha"}, "none"}, {Key{Rights: "everywhere", Project: "beta"}, ""},
		{Key{Rights: "inside", Projects: "alpha,beta"}, "files_a files_b"}, {Key{Rights: "everywhere,inside", Projects: "alpha,beta"}, "files_a files_b"},
		{Key{Rights: "inside", Server: "files"}, "none"}, {Key{Rights: "inside", Project: "alpha", Server: "files"}, "a b"},
		{Key{Rights: "inside", Projects: "alpha,beta", Server: "other"}, "none"}, {Key{Rights: "everywhere", Server: "files"}, "a"},
	} {
		got := "none"
		if v, ok := s.View(tt.key); ok {
			got = strings.Join(listed(t, v, protocol.Tools), " ")
		}
		if got != tt.want {
			t.Errorf("%+v: got %s, want %s", tt.key, got, tt.want)
		}
	}
}

// A report-only policy hides nothing, and the view knows what the policy would hide.
func TestReportedRights(t *testing.T) {
	naming := standard(stylePrefix)
	naming.Policy = policy.Compile(config.Policy{Present: true, Mode: "report", Roles: []config.Role{{Name: "r", Tools: allows("files_a")}}})
	s := projects(nil, naming, []*offered{server(t, "files", 0).tools("a", "b"), server(t, "other", 1).tools("c")}, config.Project{Name: "alpha", Servers: []string{"files"}})
	for _, key := range []Key{{Rights: "r"}, {Rights: "-"}, {Rights: "r", Project: "alpha"}, {Rights: "r", Projects: "alpha"}, {Rights: "r", Server: "files"}, {Rights: "-", Server: "other"}} {
		v, ok := s.View(key)
		plain := key
		plain.Rights = ""
		all, _ := projects(nil, standard(stylePrefix), []*offered{server(t, "files", 0).tools("a", "b"), server(t, "other", 1).tools("c")}, config.Project{Name: "alpha", Servers: []string{"files"}}).View(plain)
		if !ok || !slices.Equal(listed(t, v, protocol.Tools), listed(t, all, protocol.Tools)) {
			t.Errorf("%+v: a reporting policy hides items", key)
		}
		if v.Reported() == nil || len(v.Reported().Entries(protocol.Tools)) > 1 {
			t.Errorf("%+v: the report hides nothing or is missing", key)
		}
	}
}

// spellingsOf returns the names by which a client may refer to a tool or prompt.
func spellingsOf(it *item) []string {
	list := []string{it.public, it.own, it.name}
	for _, sep := range separators {
		list = append(list, it.server.Name+sep+it.own, it.server.Name+sep+it.name, it.server.Name+sep+it.own+"@0", it.server.Name+sep+it.own+"@7")
	}
	return list
}

func drawGlobs(t *rapid.T, label string) []string {
	return rapid.SliceOfN(rapid.SampledFrom([]string{"*", "s0*", "s1/*", "s0/a", "*a", "a*", "?", "*_b", "resource://s0/*", "*f:///a*", "s1_f*"}), 0, 3).Draw(t, label)
}

func drawRoles(t *rapid.T) []config.Role {
	var roles []config.Role
	for n := range rapid.IntRange(1, 4).Draw(t, "roles") {
		filter := func(kind string) config.Filter {
			return config.Filter{Allow: drawGlobs(t, kind+" allow"), Deny: drawGlobs(t, kind+" deny")}
		}
		roles = append(roles, config.Role{Name: fmt.Sprintf("r%d", n), Tools: filter("tools"), Prompts: filter("prompts"), Resources: filter("resources"),
			Servers:  rapid.SliceOfN(rapid.SampledFrom([]string{"s0", "s1", "s*", "s?", "none"}), 0, 2).Draw(t, "servers"),
			Projects: rapid.SliceOfN(rapid.SampledFrom([]string{"alpha", "beta"}), 0, 1).Draw(t, "projects"), ReadOnly: rapid.Bool().Draw(t, "readOnly"), ReadOnlyTools: drawGlobs(t, "readOnlyTools")})
	}
	return roles
}

// For any catalog, roles and projects, a view of rights shows the items of the project that some role in force
// permits, item by item. Every spelling of an item leads to that item or to none.
func TestRightsAreItemByItem(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		roles := drawRoles(rt)
		naming := under(drawNaming(rt), roles...)
		s := projects(nil, naming, drawServers(rt), config.Project{Name: "alpha", Tools: config.Filter{Deny: someFilters.Draw(rt, "alpha denies")}}, config.Project{Name: "beta", Servers: []string{"s0"}})
		var mine []string
		for _, r := range roles {
			if rapid.Bool().Draw(rt, "have "+r.Name) {
				mine = append(mine, r.Name)
			}
		}
		key := Key{Project: rapid.SampledFrom([]string{"", "", "alpha", "beta"}).Draw(rt, "project"), Rights: naming.Policy.Rights(mine, "", false)}
		v, ok := s.View(key)
		if !ok {
			if key.Project == "" {
				rt.Fatal("no view outside of projects")
			}
			return
		}
		all := s.Whole()
		if key.Project != "" {
			all = s.Project(key.Project)
		}
		permitted := func(it *item) bool {
			return it.entry != nil && all.entry(it) != nil && slices.ContainsFunc(roles, func(r config.Role) bool {
				return slices.Contains(mine, r.Name) && (len(r.Projects) == 0 || slices.Contains(r.Projects, key.Project)) && naivelyPermits(r, it)
			})
		}
		alone, hasAlone := s.View(Key{Project: key.Project, Rights: key.Rights, Server: "s0"})
		for kind := range protocol.ItemKind(protocol.ItemKinds) {
			var want []*Entry
			for _, it := range s.main.ordered[kind] {
				if permitted(it) {
					want = append(want, it.entry)
				}
				if it.server.Name == "s0" && (hasAlone && alone.Entry(kind, "s0", it.own) != nil) != permitted(it) {
					rt.Fatalf("%s of s0 alone: %v, want %v", it.own, !permitted(it), permitted(it))
				}
			}
			if !slices.Equal(v.Entries(kind), want) {
				rt.Fatalf("%s: %d shown, want %d", kind, len(v.Entries(kind)), len(want))
			}
		}
		for kind, find := range []func(string) (*Entry, *protocol.Fault){v.Tool, v.Prompt} {
			for _, it := range s.main.ordered[kind] {
				for _, name := range spellingsOf(it) {
					meant, _ := s.main.names[kind].find(name)
					e, _ := find(name)
					if (e != nil) != (meant != nil && permitted(meant)) || e != nil && e != meant.entry {
						rt.Fatalf("%q finds %v but refers to %v, permitted: %v", name, e, meant, meant != nil && permitted(meant))
					}
				}
			}
		}
		for _, it := range s.main.ordered[protocol.Resources] {
			for _, uri := range []string{it.public, it.own, it.other, namespace.PrefixURI(it.server.Name, it.own)} {
				if f, fault := v.Resource(uri); fault == nil && f.Entry != nil && f.Entry.Kind == protocol.Resources && !permitted(f.Entry.item) {
					rt.Fatalf("%q leads to %s, which no role permits", uri, f.Original)
				}
			}
		}
	})
}

// naivelyPermits reports whether a role, whatever its projects, permits an item. It is a minimal implementation of package policy for
// tools and prompts; for resources and templates it asks the package.
func naivelyPermits(r config.Role, it *item) bool {
	glob := func(patterns []string, names ...string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			return slices.ContainsFunc(names, func(n string) bool { return simpleGlob(p, n) })
		})
	}
	if len(r.Servers) > 0 && !glob(r.Servers, it.server.Name) {
		return false
	}
	f := map[protocol.ItemKind]config.Filter{protocol.Tools: r.Tools, protocol.Prompts: r.Prompts, protocol.Resources: r.Resources, protocol.Templates: r.Resources}[it.kind]
	full := it.server.Name + "/" + it.own
	if it.kind == protocol.Resources || it.kind == protocol.Templates {
		j := policy.Compile(config.Policy{Present: true, Roles: []config.Role{{Name: "only", Resources: f}}})
		return j.Permits(&policy.Item{Kind: it.kind, Server: it.server.Name, Public: it.public, Own: it.own, Other: it.other}).Meets(j.InForce("only", ""))
	}
	allowed := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			if strings.Contains(p, "/") {
				return simpleGlob(p, full)
			}
			return simpleGlob(p, it.public)
		})
	}
	if glob(f.Deny, it.public, full) || len(f.Allow) > 0 && !allowed(f.Allow) {
		return false
	}
	return !r.ReadOnly || it.kind != protocol.Tools || allowed(r.ReadOnlyTools)
}

// simpleGlob matches a glob by trying every length for every star.
func simpleGlob(pattern, s string) bool {
	switch {
	case pattern == "":
		return s == ""
	case pattern[0] == '*':
		for i := range len(s) + 1 {
			if simpleGlob(pattern[1:], s[i:]) {
				return true
			}
		}
		return false
	case s == "":
		return false
	case pattern[0] == '?':
		r := []rune(s)
		return simpleGlob(pattern[1:], string(r[1:]))
	}
	return pattern[0] == s[0] && simpleGlob(pattern[1:], s[1:])
}

// A client whose view is requested late is notified of the same changes as one whose view was requested for every
// snapshot: every change of the list, and no others.
func TestGenerationsOfRights(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		naming := under(standard(stylePrefix), drawRoles(rt)...)
		key := Key{Rights: "r0,r1"}
		var previous *Snapshot
		var had *View
		servers := []*offered{server(t, "s0", 0), server(t, "s1", 1)}
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			n := rapid.IntRange(0, 1).Draw(rt, "which")
			asks := false
			switch rapid.IntRange(0, 4).Draw(rt, "what") {
			case 0:
				servers[n] = server(t, fmt.Sprintf("s%d", n), n).tools(rapid.SliceOfN(toolNames, 0, 4).Draw(rt, "tools")...)
			case 1:
				servers[n] = servers[n].rules(func(s *config.Server) { s.Description = rapid.String().Draw(rt, "nothing clients see") })
			case 2:
				s := *servers[n].Server
				s.State = rapid.SampledFrom([]string{"", Cached}).Draw(rt, "state")
				servers[n].Server = &s
			case 3:
				servers[n].Items[protocol.Tools] = slices.Clone(servers[n].Items[protocol.Tools])
			case 4:
				asks = true
			}
			servers[n].Announced[protocol.Tools] = asks
			next := following(previous, naming, servers...)
			servers[n].Announced[protocol.Tools] = false
			v := of(t, next, key.Rights)
			if had != nil {
				insists := asks && slices.ContainsFunc(v.Entries(protocol.Tools), func(e *Entry) bool { return e.Server.Name == servers[n].Server.Name })
				changed := !sameEntries(had.listed(protocol.Tools).entries, v.listed(protocol.Tools).entries) || insists
				if (had.Generation[protocol.Tools] != v.Generation[protocol.Tools]) != changed {
					rt.Fatalf("generation changed: %v, want %v", !changed, changed)
				}
			}
			previous, had = next, v
			if rapid.Bool().Draw(rt, "skips") { // the view is not requested in between: another equal snapshot
				previous = following(next, naming, servers...)
			}
		}
	})
}

// The number of cached views is bounded. Concurrent requests get one view.
func TestDerivedViews(t *testing.T) {
	s := snapshot(under(standard(stylePrefix), config.Role{Name: "r"}, config.Role{Name: "q", Tools: denies("*")}), big(t, 2, 50)...)
	var wg sync.WaitGroup
	got := make([]*View, 50)
	for i := range got {
		wg.Go(func() { got[i], _ = s.View(Key{Rights: "r"}) })
	}
	wg.Wait()
	for _, v := range got {
		if v != got[0] {
			t.Fatal("one key has two views")
		}
	}
	for i := range 3 * maxDerived {
		of(t, s, "q"+strings.Repeat(",q", i))
	}
	if n := len(*s.derived.views.Load()); n > maxDerived {
		t.Errorf("%d views are cached, want at most %d", n, maxDerived)
	}
}

// The view of each of many servers is built once, because a client that uses all of them requests all, again and
// again.
func TestViewsOfManyServersAreKept(t *testing.T) {
	const servers = 2 * maxDerived
	s := snapshot(standard(stylePrefix), big(t, servers, 1)...)
	var first [servers]*View
	for i := range 2 * servers {
		name := s.servers[i%servers].Name
		v, ok := s.View(Key{Server: name})
		if !ok || i >= servers && v != first[i%servers] {
			t.Fatalf("the view of %s alone: exists %v, or was built again", name, ok)
		}
		first[i%servers] = v
	}
}

// A new snapshot reuses the rendered pages that have not changed.
func TestPagesOfRightsAreKept(t *testing.T) {
	naming := under(standard(stylePrefix), config.Role{Name: "r", Servers: []string{"server0"}})
	servers := big(t, 2, 50)
	first := following(nil, naming, servers...)
	page, _ := of(t, first, "r").Page(protocol.Tools, protocol.EraLegacy, "")
	servers[1] = server(t, "server1", 1).tools("other")
	again, _ := of(t, following(first, naming, servers...), "r").Page(protocol.Tools, protocol.EraLegacy, "")
	if &page[0] != &again[0] {
		t.Error("the page was rendered again")
	}
}

// BenchmarkRights builds a view of rights under five roles, for 10 000 tools of 20 servers: in a snapshot whose
// predecessor had the view, and in a new snapshot after one server's list has changed.
func BenchmarkRights(b *testing.B) {
	roles := []config.Role{{Name: "a", Tools: allows("server1_*", "server2/*", "*_7")}, {Name: "b", Tools: denies("*_9", "*/tool_1?")}, {Name: "c", ReadOnly: true}, {Name: "d", Servers: []string{"server3"}}, {Name: "e"}}
	naming, servers := under(standard(stylePrefix), roles...), big(b, 20, 500)
	previous := following(nil, naming, servers...)
	of(b, previous, "a,b")
	b.Run("view", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s := *previous
			s.derived = newDerived(previous.derived, len(servers))
			of(b, &s, "a,b")
		}
	})
	b.Run("build and view, one changed", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			servers[3].add(protocol.Tools)
			next := following(previous, naming, servers...)
			of(b, next, "a,b")
		}
	})
}

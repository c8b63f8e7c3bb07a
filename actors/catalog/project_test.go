package catalog

import (
	"slices"
	"strings"
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/namespace"

	"pgregory.net/rapid"
)

// projects builds the snapshot that follows the snapshot previous and contains these projects.
func projects(previous *Snapshot, naming Naming, servers []*offered, list ...config.Project) *Snapshot {
	var sources []Source
	for _, o := range servers {
		sources = append(sources, o.Source)
	}
	return Build(previous, sources, naming, list...)
}

// in returns the view of a project.
func in(t testing.TB, s *Snapshot, name string) *View {
	t.Helper()
	v, ok := s.View(Key{Project: name})
	if !ok {
		t.Fatalf("no project %s", name)
	}
	return v
}

func labelled(o *offered, labels ...string) *offered {
	return o.rules(func(c *config.Server) {
		c.Labels = map[string]string{}
		for i := 0; i < len(labels); i += 2 {
			c.Labels[labels[i]] = labels[i+1]
		}
	})
}

// S3.4.1: a project shows the items of its servers that its filters allow, under the names they have in the whole
// catalog.
func TestProjectShows(t *testing.T) {
	files := labelled(server(t, "files", 0).tools("read", "write_all", "search"), "region", "eu", "tier", "1")
	forge := server(t, "github", 1).tools("search", "delete")
	docs := labelled(server(t, "docs", 2).tools("search").prompts("ask"), "region", "eu")
	own := server(t, "goblin", 3).tools("describe", "call")
	own.Server.Internal = true
	for _, tt := range []struct {
		name string
		p    config.Project
		want string
	}{
		{"no rules: everything", config.Project{}, "docs_search files_read files_search files_write_all github_delete github_search goblin_call goblin_describe"},
		{"by name", config.Project{Servers: []string{"files"}}, "files_read files_search files_write_all goblin_call goblin_describe"},
		{"by label", config.Project{Labels: map[string]string{"region": "eu"}}, "docs_search files_read files_search files_write_all goblin_call goblin_describe"},
		{"by all labels", config.Project{Labels: map[string]string{"region": "eu", "tier": "1"}}, "files_read files_search files_write_all goblin_call goblin_describe"},
		{"by name or label", config.Project{Servers: []string{"github"}, Labels: map[string]string{"tier": "1"}}, "files_read files_search files_write_all github_delete github_search goblin_call goblin_describe"},
		{"a label that no server has", config.Project{Labels: map[string]string{"region": ""}}, "goblin_call goblin_describe"},
		{"allow", config.Project{Tools: config.Filter{Allow: []string{"*_search"}}}, "docs_search files_search github_search goblin_call goblin_describe"},
		{"deny beats allow, also for the gateway's own tools", config.Project{Tools: config.Filter{Allow: []string{"files_*"}, Deny: []string{"*_all", "goblin_call"}, Disabled: []string{"files_read"}}}, "files_search goblin_describe"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.p.Name = "alpha"
			v := in(t, projects(nil, standard(stylePrefix), []*offered{files, forge, docs, own}, tt.p), "alpha")
			if got := strings.Join(listed(t, v, protocol.Tools), " "); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// S3.4.1, S3.4.2: an item hidden by a project is not found by any spelling, and none of its spellings leads to
// another item. Without a project all items are found.
func TestProjectHides(t *testing.T) {
	files := server(t, "files", 0).tools("read", "search").resources("file:///a", "file:///secret/b").templates("file:///{+path}", "db://{id}")
	other := server(t, "other", 1).tools("files_read", "search", "only").resources("file:///a", "file:///o", "resource://files/file:///secret/b", "resource://files/file:///nowhere").templates("db://{id}")
	for _, style := range []string{stylePrefix, styleUnderscore, styleOriginal} {
		s := projects(nil, standard(style), []*offered{files, other},
			config.Project{Name: "alpha", Servers: []string{"files"}, Tools: config.Filter{Deny: []string{"files_read"}}, Resources: config.Filter{Deny: []string{"*secret*"}}},
			config.Project{Name: "beta", Servers: []string{"other"}})
		everything, _ := s.View(Key{})
		alpha, beta := in(t, s, "alpha"), in(t, s, "beta")
		for _, name := range []string{"files_read", "files:read", "files/read", "files.read", "files__read", "read", "other_only", "other:only", "only", "other:only@0", "search"} {
			if got := tool(alpha, name); got != "TOOL_NOT_FOUND" {
				t.Errorf("%s: alpha: %s is %s, want TOOL_NOT_FOUND", style, name, got)
			}
			if got := tool(everything, name); name != "search" && got == "TOOL_NOT_FOUND" {
				t.Errorf("%s: without a project %s is %s", style, name, got)
			}
		}
		if got := tool(beta, "files_read"); got != "TOOL_NOT_FOUND" { // also the own name of a tool of server other
			t.Errorf("%s: beta: files_read leads to %s", style, got)
		}
		if _, fault := alpha.Tool("search"); !slices.Equal(fault.Candidates, []string{"files_search"}) {
			t.Errorf("%s: candidates %v, want files_search", style, fault.Candidates)
		}
		for _, uri := range []string{
			"resource://files/file:///secret/b", "files_file___secret_b", "file:///secret/b", "resource://files/file:///secret/none", "resource://files/file:///%73ecret/none",
			"resource://files/file:///x/../secret/none", "resource://other/file:///o", "other_file___o", "file:///secret/none", "resource://other/db://7",
		} {
			if got := found(alpha, uri); !strings.HasPrefix(got, "RESOURCE_NOT_FOUND") {
				t.Errorf("%s: alpha: %s is %s, want RESOURCE_NOT_FOUND", style, uri, got)
			}
		}
		for _, uri := range []string{"resource://files/file:///secret/b", "resource://files/file:///nowhere"} { // server other lists these URIs as its own, and with style original they are public
			if got := found(beta, uri); style != styleOriginal && got != "RESOURCE_NOT_FOUND" {
				t.Errorf("%s: beta: %s of files leads to %s, want RESOURCE_NOT_FOUND", style, uri, got)
			}
		}
		for uri, want := range map[string]string{"file:///a": "files file:///a", "resource://files/file:///x": "files file:///x", "db://7": "files db://7"} {
			if got := found(alpha, uri); got != want {
				t.Errorf("%s: alpha: %s is %s, want %s", style, uri, got, want)
			}
		}
		if _, fault := alpha.Template("resource://other/db://{id}"); fault == nil {
			t.Errorf("%s: alpha: a template outside the project is found", style)
		}
		if e, fault := alpha.Template("db://{id}"); fault != nil || e.Server.Name != "files" {
			t.Errorf("%s: alpha: db://{id} is %v, %v; want that of files", style, e, fault)
		}
	}
}

// With resources.unlisted: forward, unlisted URIs are forwarded to the only server of a project, but not URIs that refer to another
// server.
func TestProjectForwardsItsOwn(t *testing.T) {
	naming := standard(stylePrefix)
	naming.Unlisted = unlistedForward
	files, other := server(t, "files", 0).resources("file:///a"), server(t, "other", 1)
	v := in(t, projects(nil, naming, []*offered{files, other}, config.Project{Name: "beta", Servers: []string{"other"}}), "beta")
	for uri, want := range map[string]string{
		"file:///mine": "other file:///mine", "resource://other/file:///mine": "other file:///mine", "files_file___a": "RESOURCE_NOT_FOUND", "resource://files/file:///a": "RESOURCE_NOT_FOUND", "resource://files/x": "RESOURCE_NOT_FOUND",
	} {
		if got := found(v, uri); got != want {
			t.Errorf("%s is %s, want %s", uri, got, want)
		}
	}
}

// A project's resource rules apply to expansions of templates in any spelling.
func TestProjectAllowsResources(t *testing.T) {
	files := server(t, "files", 0).resources("file:///pub/a", "file:///b").templates("file:///{+path}")
	s := projects(nil, standard(stylePrefix), []*offered{files}, config.Project{Name: "alpha", Resources: config.Filter{Allow: []string{"resource://files/file:///pub/*"}}})
	v := in(t, s, "alpha")
	for uri, want := range map[string]string{
		"file:///pub/a": "files file:///pub/a", "resource://files/file:///pub/x": "RESOURCE_NOT_FOUND", "resource://files/file:///b": "RESOURCE_NOT_FOUND", "file:///pub/../b": "RESOURCE_NOT_FOUND",
	} { // the template is not allowed, so pub/x is not found
		if got := found(v, uri); got != want {
			t.Errorf("%s is %s, want %s", uri, got, want)
		}
	}
	s = projects(s, standard(stylePrefix), []*offered{files}, config.Project{Name: "alpha", Resources: config.Filter{Deny: []string{"resource://files/file:///pub/*"}}})
	v = in(t, s, "alpha")
	for uri, want := range map[string]string{
		"file:///pub/a": "RESOURCE_NOT_FOUND", "resource://files/file:///pub/x": "RESOURCE_NOT_FOUND", "resource://files/file:///x": "files file:///x",
		"resource://files/file:///%70ub/x": "RESOURCE_NOT_FOUND", "resource://files/file:////pub/x": "RESOURCE_NOT_FOUND",
	} {
		if got := found(v, uri); got != want {
			t.Errorf("%s is %s, want %s", uri, got, want)
		}
	}
}

// S3.4.1: clients of a project are not notified of changes outside it. A generation increases if the items shown
// change, or if a server of the project announces a change but its list is equal.
func TestProjectGenerations(t *testing.T) {
	naming := standard(stylePrefix)
	alpha := config.Project{Name: "alpha", Servers: []string{"files"}, Tools: config.Filter{Deny: []string{"*_hidden*"}}}
	beta := config.Project{Name: "beta", Servers: []string{"other"}}
	files, other := server(t, "files", 0).tools("a", "hidden").resources("file:///a"), server(t, "other", 1).tools("a")
	first := projects(nil, naming, []*offered{files, other}, alpha, beta)
	asked := func(o *offered) *offered {
		changed := *o
		changed.Announced[protocol.Tools] = true
		return &changed
	}
	for _, tt := range []struct {
		name    string
		servers []*offered
		list    []config.Project
		up      string // the kinds that changed in alpha
	}{
		{"nothing", []*offered{files, other}, []config.Project{alpha, beta}, ""},
		{"the other project's server", []*offered{files, server(t, "other", 1).tools("b")}, []config.Project{alpha, beta}, ""},
		{"a server in no project", []*offered{files, other, server(t, "third", 2).tools("b")}, []config.Project{alpha, beta}, ""},
		{"a hidden tool", []*offered{server(t, "files", 0).tools("a", "hidden2").resources("file:///a"), other}, []config.Project{alpha, beta}, ""},
		{"a hidden tool, list change announced", []*offered{asked(server(t, "files", 0).tools("a", "hidden2").resources("file:///a")), other}, []config.Project{alpha, beta}, ""},
		{"list change announced, list equal", []*offered{asked(files), other}, []config.Project{alpha, beta}, "tools"},
		{"list change announced by the other project's server, list equal", []*offered{files, asked(other)}, []config.Project{alpha, beta}, ""},
		{"a shown tool", []*offered{server(t, "files", 0).tools("a", "b").resources("file:///a"), other}, []config.Project{alpha, beta}, "tools"},
		{"the other project's rules", []*offered{files, other}, []config.Project{alpha, {Name: "beta"}}, ""},
		{"the other project is removed", []*offered{files, other}, []config.Project{alpha}, ""},
		{"a project is added", []*offered{files, other}, []config.Project{{Name: "gamma"}, alpha, beta}, ""},
		{"rules that change nothing", []*offered{files, other}, []config.Project{{Name: "alpha", Servers: []string{"files"}, Tools: config.Filter{Deny: []string{"*_hid*"}}}, beta}, ""},
		{"the project's filter", []*offered{files, other}, []config.Project{{Name: "alpha", Servers: []string{"files"}}, beta}, "tools"},
		{"the project's servers", []*offered{files, other}, []config.Project{{Name: "alpha", Servers: []string{"other"}, Tools: alpha.Tools}, beta}, "tools resources"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			second := projects(first, naming, tt.servers, tt.list...)
			for round := range 2 { // the same sources again change nothing
				before, after := in(t, first, "alpha"), in(t, second, "alpha")
				var up []string
				for kind := range protocol.ItemKind(protocol.ItemKinds) {
					if after.Generation[kind] != before.Generation[kind] {
						up = append(up, kind.String())
					} else if after.lists[kind] != before.lists[kind] && slices.Equal(after.lists[kind].entries, before.lists[kind].entries) {
						t.Errorf("%s: an unchanged list was rebuilt", kind)
					}
				}
				if want := []string{tt.up, ""}[round]; strings.Join(up, " ") != want {
					t.Errorf("round %d: generations of %v increased, want %s", round, up, want)
				}
				first, second = second, projects(second, naming, files2(tt.servers), tt.list...)
			}
			first = projects(nil, naming, []*offered{files, other}, alpha, beta)
		})
	}
}

// files2 returns the sources without the announcements.
func files2(servers []*offered) (list []*offered) {
	for _, o := range servers {
		quiet := *o
		quiet.Announced = [protocol.ItemKinds]bool{}
		list = append(list, &quiet)
	}
	return list
}

// A project that was removed and added again differs from the former one, even if it shows the same.
func TestProjectIsAddedAgain(t *testing.T) {
	files := []*offered{server(t, "files", 0).tools("a")}
	first := projects(nil, standard(stylePrefix), files, config.Project{Name: "alpha"})
	second := projects(first, standard(stylePrefix), files)
	if _, ok := second.View(Key{Project: "alpha"}); ok {
		t.Fatal("a removed project has a view")
	}
	third := projects(second, standard(stylePrefix), files, config.Project{Name: "alpha"})
	gone, back := second.Nothing(), in(t, third, "alpha")
	if was := in(t, first, "alpha"); gone.Generation == was.Generation || back.Generation == gone.Generation || back.Generation == was.Generation {
		t.Error("the generations are equal, so sessions would not be notified")
	}
	if got := tool(gone, "files_a"); got != "TOOL_NOT_FOUND" {
		t.Errorf("a removed project shows %s", got)
	}
}

// The view of one server within a project hides what the project hides. A server outside the project has no view.
func TestServerWithinProject(t *testing.T) {
	s := projects(nil, standard(stylePrefix), []*offered{server(t, "files", 0).tools("a", "b").resources("file:///a", "file:///b"), server(t, "other", 1).tools("c")},
		config.Project{Name: "alpha", Servers: []string{"files"}, Tools: config.Filter{Deny: []string{"files_b"}}, Resources: config.Filter{Deny: []string{"resource://files/file:///b"}}})
	v, ok := s.View(Key{Project: "alpha", Server: "files"})
	if !ok || strings.Join(listed(t, v, protocol.Tools), " ") != "a" || strings.Join(listed(t, v, protocol.Resources), " ") != "file:///a" {
		t.Errorf("the view of files in alpha: exists %v, %v; want a and file:///a", ok, v)
	}
	for _, key := range []Key{{Project: "alpha", Server: "other"}, {Project: "absent", Server: "files"}, {Project: "absent"}} {
		if _, ok := s.View(key); ok {
			t.Errorf("%v has a view", key)
		}
	}
}

// In a project, a spelling refers to the same item as in the whole catalog or to none. Hidden items are never found.
// A snapshot that reuses parts of another equals a new one.
func TestProjectsProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		servers, naming := drawServers(rt), drawNaming(rt)
		p := config.Project{Name: "p", Servers: rapid.SampledFrom([][]string{nil, {"s0"}, {"s1", "s2"}}).Draw(rt, "servers"),
			Tools:     config.Filter{Deny: someFilters.Draw(rt, "deny"), Allow: rapid.SampledFrom([][]string{nil, nil, {"s0*", "*a*"}}).Draw(rt, "allow")},
			Resources: config.Filter{Deny: rapid.SampledFrom([][]string{nil, {"*a*"}, {"resource://s1/*"}}).Draw(rt, "deny uris")}}
		s := projects(nil, naming, servers, p)
		everything, v := s.main, s.projects["p"]
		names := slices.Collect(func(yield func(string) bool) {
			for _, it := range everything.names[0].owned {
				for _, name := range []string{it.public, it.own, it.server.Name + ":" + it.own, it.server.Name + "/" + it.name} {
					if !yield(name) {
						return
					}
				}
			}
		})
		for _, name := range names {
			all, _ := everything.Tool(name)
			mine, _ := v.Tool(name)
			if mine != nil && (mine != all || !slices.Contains(v.Entries(protocol.Tools), mine)) {
				rt.Fatalf("%q refers to %v in the project and to %v without", name, mine, all)
			}
			if mine == nil && all != nil && slices.Contains(v.Entries(protocol.Tools), all) {
				rt.Fatalf("%q is shown but not found", name)
			}
		}
		for _, it := range everything.ordered[protocol.Resources] {
			for _, uri := range []string{it.public, it.other, it.own, namespace.PrefixURI(it.server.Name, it.own)} {
				f, fault := v.Resource(uri)
				if fault == nil && (!v.Has(f.Server.Name) || f.Entry != nil && f.Entry.Kind == protocol.Resources && !slices.Contains(v.Entries(protocol.Resources), f.Entry)) {
					rt.Fatalf("%q leads to %s of %s, which is hidden", uri, f.Original, f.Server.Name)
				}
			}
			if f, fault := v.Resource(it.public); v.entry(it) == nil && fault == nil {
				rt.Fatalf("%q is hidden but leads to %s of %s", it.public, f.Original, f.Server.Name)
			} else if v.entry(it) != nil && f.Entry != it.entry {
				rt.Fatalf("%q is shown but not found: %v", it.public, fault)
			}
		}
		changed := drawServers(rt)
		for i, o := range changed {
			if i < len(servers) && rapid.Bool().Draw(rt, "keep") {
				changed[i] = servers[i]
			} else if i < len(servers) && rapid.Bool().Draw(rt, "keep tools") {
				o.Server, o.Items[protocol.Tools] = servers[i].Server, servers[i].Items[protocol.Tools]
			}
		}
		after, fresh := projects(s, naming, changed, p), projects(namesOf(s), naming, changed, p)
		for kind := range protocol.ItemKind(protocol.ItemKinds) {
			if !sameEntries(after.projects["p"].Entries(kind), fresh.projects["p"].Entries(kind)) {
				rt.Fatalf("%s: the reused list differs from a new one", kind)
			}
		}
		next := projects(s, naming, servers, p)
		for kind := range protocol.ItemKind(protocol.ItemKinds) {
			if next.projects["p"].Generation[kind] != v.Generation[kind] || next.projects["p"].lists[kind] != v.lists[kind] {
				rt.Fatalf("%s: the project changed although its sources did not", kind)
			}
		}
	})
}

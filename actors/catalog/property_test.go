package catalog

import (
	"fmt"
	"slices"
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/protocol"

	"pgregory.net/rapid"
)

// Names that collide with each other, with prefixes and with aliases.
var (
	toolNames   = rapid.SampledFrom([]string{"a", "b", "a_b", "a.b", "a b", "s1_a", "s1:a", "s1", "ü", "", "a@1", "s0__b", "a_b_c_d_e_f_g_h", "a_b_c_d_e_f_g_i"})
	uriNames    = rapid.SampledFrom([]string{"f:///a", "f:///a/b", "f:///a_b", "f:///a//b", "resource://s1/f:///a", "ui://s0/x", "ui://x", "s1_f___a", "x", "", "f:///"})
	textNames   = rapid.SampledFrom([]string{"f:///{x}", "f:///{+x}", "f:///a/{x}", "g:{x}", "resource://s0/{x}", "{+all}", "{", "f:///a"})
	someModes   = rapid.SampledFrom([]string{"always", "on-conflict", "never"})
	someStyles  = rapid.SampledFrom([]string{stylePrefix, styleUnderscore, styleOriginal})
	somePrefix  = rapid.SampledFrom([]string{"", "", "s1", "a", "s1_a"})
	someFilters = rapid.SampledFrom([][]string{nil, nil, {"a*"}, {"f:///a*"}, {"?"}})
)

// drawServer draws a server with arbitrary items.
func drawServer(t *rapid.T, n int) *offered {
	o := server(nil, fmt.Sprintf("s%d", n), n).
		tools(rapid.SliceOfN(toolNames, 0, 8).Draw(t, "tools")...).
		prompts(rapid.SliceOfN(toolNames, 0, 3).Draw(t, "prompts")...).
		resources(rapid.SliceOfN(uriNames, 0, 8).Draw(t, "resources")...).
		templates(rapid.SliceOfN(textNames, 0, 4).Draw(t, "templates")...)
	return o.rules(func(s *config.Server) {
		s.Prefix = somePrefix.Draw(t, "prefix")
		s.Tools.Filter = config.Filter{Deny: someFilters.Draw(t, "deny"), Rename: map[string]string{"b": rapid.SampledFrom([]string{"b", "a", "renamed"}).Draw(t, "rename")}}
		s.ResourceFilter.Disabled = someFilters.Draw(t, "disabled")
	})
}

func drawServers(t *rapid.T) []*offered {
	var servers []*offered
	for n := range rapid.IntRange(0, 4).Draw(t, "servers") {
		servers = append(servers, drawServer(t, n))
	}
	return servers
}

func drawNaming(t *rapid.T) Naming {
	return Naming{
		Namespace: config.Namespace{Mode: someModes.Draw(t, "mode"), Separator: rapid.SampledFrom([]string{"_", "__", "-"}).Draw(t, "separator"), MaxLength: rapid.SampledFrom([]int{0, 16, 64}).Draw(t, "max")},
		URIStyle:  someStyles.Draw(t, "style"), PageSize: rapid.IntRange(0, 5).Draw(t, "page"), MetaTools: rapid.Bool().Draw(t, "meta"),
	}
}

// Every listed name is unique and leads to its item, as does every qualified spelling that is not a public name. Every page is
// valid. S3.1.2, S4.1.1
func TestEveryNameLeadsToItsItem(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		servers := drawServers(rt)
		v := whole(drawNaming(rt), servers...)
		for kind := range protocol.ItemKind(protocol.ItemKinds) {
			seen := map[string]bool{}
			for _, public := range listed(t, v, kind) {
				if seen[public] {
					rt.Fatalf("%s: %q is listed twice", kind, public)
				}
				seen[public] = true
			}
			if items, _ := pages(t, v, kind); len(items) != len(seen) {
				rt.Fatalf("%s: the pages hold %d of %d items", kind, len(items), len(seen))
			}
		}
		for _, e := range v.Entries(protocol.Tools) {
			if got, fault := v.Tool(e.Public); got != e {
				rt.Fatalf("Tool(%q): %v, %v; want this tool", e.Public, got, fault)
			}
			for _, sep := range separators {
				spelling := e.Server.Name + sep + e.Original
				if got, fault := v.Tool(spelling); got != e && v.names[0].public[spelling] == nil {
					rt.Fatalf("Tool(%q): %v, %v; want the tool", spelling, got, fault)
				}
			}
		}
		for _, e := range v.Entries(protocol.Prompts) {
			if got, fault := v.Prompt(e.Public); got != e {
				rt.Fatalf("Prompt(%q): %v, %v; want this prompt", e.Public, got, fault)
			}
		}
		for _, e := range v.Entries(protocol.Resources) {
			if got, fault := v.Resource(e.Public); fault != nil || got.Entry != e || got.Original != e.Original || got.Server != e.Server {
				rt.Fatalf("Resource(%q): %v, %v; want this resource", e.Public, got, fault)
			}
			if public := v.PublicURI(e.Server, e.Original); public != e.Public {
				rt.Fatalf("PublicURI(%s, %q) = %q, want %q", e.Server.Name, e.Original, public, e.Public)
			}
		}
		for _, e := range v.Entries(protocol.Templates) {
			if got, fault := v.Template(e.Public); got != e {
				rt.Fatalf("Template(%q): %v, %v; want this template", e.Public, got, fault)
			}
		}
	})
}

// In mode "always", appending a server to the configuration changes no name of any kind, and neither does a filter.
// S4.1.2
func TestAppendedServerMovesNoName(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		servers := drawServers(rt)
		naming := drawNaming(rt)
		naming.Namespace.Mode, naming.MetaTools = "always", true
		before := publicNames(whole(naming, servers...))
		after := publicNames(whole(naming, append(slices.Clone(servers), drawServer(rt, len(servers)))...))
		for id, public := range before {
			if after[id] != public {
				rt.Fatalf("%s was %q, is %q", id, public, after[id])
			}
		}
		for i, s := range servers {
			servers[i] = s.rules(func(c *config.Server) { c.Tools.Disabled, c.ResourceFilter.Disabled = []string{"a*"}, []string{"f*"} })
		}
		for id, public := range publicNames(whole(naming, servers...)) {
			if was, ok := before[id]; ok && was != public {
				rt.Fatalf("after filters changed, %s was %q, is %q", id, was, public)
			}
		}
	})
}

// publicNames returns the public names of all listed items by kind, server and own name.
func publicNames(v *View) map[string]string {
	out := map[string]string{}
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		for _, e := range v.Entries(kind) {
			out[kind.String()+" "+e.Server.Name+" "+e.Original] = e.Public
		}
	}
	return out
}

// namesOf returns a snapshot that contains only the names of the items, so nothing else can be reused from it.
func namesOf(s *Snapshot) *Snapshot {
	return &Snapshot{Version: s.Version, Generation: s.Generation, naming: s.naming, main: &View{
		lists: s.main.lists, names: s.main.names, resources: s.main.resources, templates: s.main.templates}}
}

// A snapshot that reuses parts of another equals one that only keeps the names.
func TestReuseChangesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		previous := snapshot(drawNaming(rt), drawServers(rt)...)
		for range 3 {
			servers, naming := drawServers(rt), drawNaming(rt)
			for i, s := range servers {
				if old := previous.Server(s.Server.Name); old != nil && rapid.Bool().Draw(rt, "keep") {
					for kind := range s.Items {
						servers[i].Items[kind] = previous.byName[old.Name].lists[kind].source
					}
					if rapid.Bool().Draw(rt, "keep server") {
						servers[i].Server = old
					}
				}
			}
			next, fresh := following(previous, naming, servers...), following(namesOf(previous), naming, servers...)
			for kind := range protocol.ItemKind(protocol.ItemKinds) {
				a, b := next.main.Entries(kind), fresh.main.Entries(kind)
				if !sameEntries(a, b) {
					rt.Fatalf("%s: the %d reused entries differ from the %d new ones", kind, len(a), len(b))
				}
				for i := range a {
					if a[i].Server != b[i].Server || a[i].Original != b[i].Original {
						rt.Fatalf("%q belongs to another server", a[i].Public)
					}
				}
				if same := sameEntries(previous.main.Entries(kind), a); same != (next.Generation[kind] == previous.Generation[kind]) {
					rt.Fatalf("%s: equal to the previous list: %v, but generation %d after %d", kind, same, next.Generation[kind], previous.Generation[kind])
				}
			}
			previous = next
		}
	})
}

// An item that is always listed is seen exactly once, whatever is added or removed between two pages. S0.4.2
func TestPagingWhileTheCatalogChanges(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		naming := standard(stylePrefix)
		naming.PageSize = rapid.IntRange(1, 4).Draw(rt, "page")
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,3}`), 1, 12, rapid.ID[string])
		steady := names.Draw(rt, "steady")
		seen := map[string]int{}
		for cursor, round := "", 0; ; round++ {
			passing := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,3}`), 0, 6, rapid.ID[string]).Draw(rt, "passing")
			v := whole(naming, server(t, "s", 0).tools(slices.Concat(steady, passing)...))
			items, next := page1(t, v, protocol.Tools, cursor)
			for _, item := range items {
				seen[item]++
			}
			if cursor = next; next == "" {
				break
			}
			if round > 200 {
				rt.Fatal("the pages do not end")
			}
		}
		for _, name := range steady {
			e, _ := whole(naming, server(t, "s", 0).tools(steady...)).Tool("s_" + name)
			if seen[string(e.Raw())] != 1 {
				rt.Fatalf("%s was seen %d times, want once", name, seen[string(e.Raw())])
			}
		}
	})
}

package catalog

import (
	"fmt"
	"strings"
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// S0.4.4, S0.6.2, S3.5.1, S3.5.2, S3.5.3: the effect of a change on the generation of each kind, in the whole catalog
// and in a server's own view.
func TestGenerations(t *testing.T) {
	// S1.53
	a := func() *offered {
		return server(t, "a", 0).tools("x", "y").resources("f:///1").templates("f:///{n}").prompts("p")
	}
	b := server(t, "b", 1).tools("x")
	const all = "tools prompts resources templates"
	for _, tt := range []struct {
		name                string
		next                func(first *offered) []Source
		naming              Naming
		whole, aloneA, onlB string // kinds whose generation increases
	}{
		{name: "nothing", next: func(first *offered) []Source { return []Source{first.Source, b.Source} }},
		{name: "equal lists in new slices", next: func(*offered) []Source { return []Source{a().Source, b.Source} }},
		{name: "a tool is added", next: func(*offered) []Source { return []Source{a().tools("z").Source, b.Source} }, whole: "tools", aloneA: "tools"},
		{name: "a tool is removed", next: func(*offered) []Source {
			return []Source{server(t, "a", 0).tools("x").resources("f:///1").templates("f:///{n}").prompts("p").Source, b.Source}
		},
			whole: "tools", aloneA: "tools"},
		{name: "another template", next: func(*offered) []Source { return []Source{a().templates("g:///{n}").Source, b.Source} }, whole: "templates", aloneA: "templates"},
		{name: "another order", next: func(*offered) []Source {
			return []Source{server(t, "a", 0).tools("y", "x").resources("f:///1").templates("f:///{n}").prompts("p").Source, b.Source}
		},
			aloneA: "tools"}, // the whole is sorted, the server's own view is not
		{name: "list change announced, list equal", next: func(first *offered) []Source {
			s := first.Source
			s.Announced[protocol.Resources] = true
			return []Source{s, b.Source}
		}, whole: "resources", aloneA: "resources"},
		{name: "a server is removed", next: func(*offered) []Source { return []Source{b.Source} }, whole: all, aloneA: "gone"},
		{name: "a server is disabled", next: func(first *offered) []Source { // S3.5.2
			return []Source{first.rules(func(s *config.Server) { s.Disabled = true }).Source, b.Source}
		}, whole: all, aloneA: "gone"},
		{name: "a server is added", next: func(first *offered) []Source {
			return []Source{first.Source, b.Source, server(t, "c", 2).prompts("q").Source}
		}, whole: "prompts"}, // S3.5.1
		{name: "a tool is disabled", next: func(first *offered) []Source { // S3.5.3
			return []Source{first.rules(func(s *config.Server) { s.Tools.Disabled = []string{"x"} }).Source, b.Source}
		}, whole: "tools", aloneA: "tools"},
		{name: "a filter without effect", next: func(first *offered) []Source {
			return []Source{first.rules(func(s *config.Server) { s.Tools.Disabled = []string{"absent"} }).Source, b.Source}
		}},
		{name: "cached", next: func(first *offered) []Source {
			copied := *first.Server
			copied.State = "cached"
			s := first.Source
			s.Server = &copied
			return []Source{s, b.Source}
		}}, // only the state differs
		{name: "cached, another version", next: func(first *offered) []Source {
			copied := *first.Server
			copied.State, copied.Protocol = Cached, "2026-07-28"
			s := first.Source
			s.Server = &copied
			return []Source{s, b.Source}
		}, whole: all},
		{name: "other names", naming: mode("on-conflict"), next: func(first *offered) []Source { return []Source{first.Source, b.Source} }, whole: "prompts tools"},
		{name: "other URIs", naming: standard(styleUnderscore), next: func(first *offered) []Source { return []Source{first.Source, b.Source} }, whole: "resources templates"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.naming == (Naming{}) {
				tt.naming = standard(stylePrefix)
			}
			one := a()
			first := snapshot(standard(stylePrefix), one, b)
			second := Build(first, tt.next(one), tt.naming)
			if second.Version != first.Version+1 {
				t.Errorf("version %d after %d", second.Version, first.Version)
			}
			check := func(what string, k Key, want string) {
				before, _ := first.View(k)
				after, ok := second.View(k)
				if !ok {
					if want != "gone" {
						t.Errorf("%s is missing", what)
					}
					return
				}
				for kind := range protocol.ItemKind(protocol.ItemKinds) {
					if up := after.Generation[kind] > before.Generation[kind]; up != strings.Contains(want, kind.String()) {
						t.Errorf("%s: generation of %s from %d to %d, want increased: %q", what, kind, before.Generation[kind], after.Generation[kind], want)
					}
				}
			}
			check("the whole", Key{}, tt.whole)
			check("a alone", Key{Server: "a"}, tt.aloneA)
			check("b alone", Key{Server: "b"}, tt.onlB)
			if v, _ := second.View(Key{}); v.Generation != second.Generation || v.Snapshot() != second {
				t.Error("the view belongs to another snapshot")
			}
		})
	}
}

func TestViews(t *testing.T) {
	s := snapshot(standard(stylePrefix), server(t, "b", 1), server(t, "a", 0), server(t, "off", 2).rules(func(s *config.Server) { s.Disabled = true }))
	for key, want := range map[Key]bool{{}: true, {Server: "a"}: true, {Server: "off"}: false, {Server: "absent"}: false, {Project: "p"}: false, {Project: "p", Server: "a"}: false} {
		if _, ok := s.View(key); ok != want {
			t.Errorf("View(%v) = %v, want %v", key, ok, want)
		}
	}
	if got := s.Servers(); len(got) != 2 || got[0].Name != "a" || got[1].Name != "b" {
		t.Errorf("Servers() = %v, want a and b", got)
	}
	if s.Server("a") == nil || s.Server("off") != nil || s.Server("absent") != nil {
		t.Error("Server must find a, but not off and absent")
	}
	if empty := snapshot(standard(stylePrefix)); empty.Version != 1 || len(empty.Servers()) != 0 {
		t.Error("an empty catalog must have version 1 and no servers")
	}
}

// An item that cannot be listed is omitted with a warning and does not affect the others.
func TestWarnings(t *testing.T) {
	deep := strings.Repeat("[", 40) + strings.Repeat("]", 40)
	s := server(t, "s", 0).tools("a", "a").
		add(protocol.Tools, `{"name":""}`, `{}`, `{"name":7}`, `[]`, `{"name":"deep","x":`+deep+`}`,
			`{"name":"`+strings.Repeat("n", maxName+1)+`"}`, `{"name":"big","x":"`+strings.Repeat("x", maxItem)+`"}`).
		templates("f:///{", "f:///{x}").resources("f:///1", "f:///1")
	snap := snapshot(standard(stylePrefix), s, server(t, "s2", 1).rules(func(s *config.Server) { s.Prefix = "s" }).tools("a"))
	v, _ := snap.View(Key{})
	if got := listed(t, v, protocol.Tools); len(got) != 3 || got[0] != "s_a" || got[2] != "s_deep" {
		t.Errorf("tools %q, want 3: s_a, one with a suffix, and s_deep", got)
	}
	if got := len(v.Entries(protocol.Templates)); got != 2 {
		t.Errorf("%d templates are listed, want 2: one with an invalid text is listed, too", got)
	}
	all := strings.Join(snap.Warnings(), "\n")
	for _, want := range []string{`lists "a" twice`, "item 2 left out: no name", "item 4 left out", "item 5 left out", "item 7 left out: name of 16385 bytes",
		"item 8 left out: 1048", `template "f:///{"`, `lists "f:///1" twice`, `"a" of server s2 is listed as "s_a_`} {
		if !strings.Contains(all, want) {
			t.Errorf("no warning contains %s:\n%s", want, all)
		}
	}
	long := server(t, "l", 0)
	long.Items[protocol.Tools] = make([][]byte, maxList+1)
	for i := range long.Items[protocol.Tools] {
		long.Items[protocol.Tools][i] = fmt.Appendf(nil, `{"name":"%d"}`, i)
	}
	if snap := snapshot(standard(stylePrefix), long); snap.Counts("l")[protocol.Tools] != maxList || len(snap.Warnings()) != 1 {
		t.Errorf("%v items, warnings %q; want the limit and one warning", snap.Counts("l"), snap.Warnings())
	}
	var many []string
	for range 1000 {
		many = append(many, "same")
	}
	if got := snapshot(standard(stylePrefix), server(t, "m", 0).tools(many...)).Warnings(); len(got) != maxWarnings+1 {
		t.Errorf("%d warnings, want %d", len(got), maxWarnings+1)
	}
}

// A snapshot reuses unchanged entries.
func TestSnapshotsReuseUnchangedEntries(t *testing.T) {
	a, b := server(t, "a", 0).tools("x"), server(t, "b", 1).tools("y")
	first := snapshot(standard(stylePrefix), a, b)
	v1, _ := first.View(Key{})
	shown, _ := v1.Tool("b_y")
	raw := shown.Raw()
	pool := *b.Server
	pool.Instructions = "new"
	b.Server = &pool
	second := following(first, standard(stylePrefix), a, b)
	v2, _ := second.View(Key{})
	if e1, f1 := v1.Tool("a_x"); f1 != nil {
		t.Fatal(f1)
	} else if e2, _ := v2.Tool("a_x"); e1 != e2 {
		t.Error("an unchanged entry was rebuilt")
	}
	e1, _ := v1.Tool("b_y")
	e2, _ := v2.Tool("b_y")
	if &raw[0] != &e2.Raw()[0] || e2.Server != b.Server || e1.Server == b.Server {
		t.Error("the entry of a server with other instructions must be new, with the same bytes")
	}
	third := following(second, mode("never"), a, b)
	v3, _ := third.View(Key{})
	if got := listed(t, v3, protocol.Tools); fmt.Sprint(got) != "[x y]" {
		t.Errorf("got %q, want x and y", got)
	}
}

func TestInstructions(t *testing.T) {
	a, b := server(t, "a", 1), server(t, "b", 0)
	a.Server.Instructions, b.Server.Instructions = "Read first.", strings.Repeat("ü", 100)
	v := whole(standard(stylePrefix), a, b, server(t, "c", 2))
	if got, want := v.Instructions(), "# b\n\n"+strings.Repeat("ü", 100)+"\n\n# a\n\nRead first."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	b.Server.Instructions = strings.Repeat("ü", 1<<20)
	v = whole(standard(stylePrefix), a, b)
	if got := v.Instructions(); len(got) > maxInstructions || len(got) < maxInstructions-8 || !strings.HasSuffix(got, "ü…") {
		t.Errorf("the instructions have %d bytes and end in %q", len(got), got[len(got)-8:])
	}
	alone, _ := v.Snapshot().View(Key{Server: "a"})
	if got := alone.Instructions(); got != "Read first." {
		t.Errorf("got %q, want Read first.", got)
	}
}

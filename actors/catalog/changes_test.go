package catalog

import (
	"fmt"
	"strings"
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

func changesText(old, next *Snapshot) string {
	var lines []string
	for _, c := range Changes(old, next) {
		lines = append(lines, c.Server+" "+c.Topic+" "+c.Text(100))
	}
	return strings.Join(lines, "; ")
}

// S2.4.1: a change names new and removed items, and the members that differ in the others.
func TestChanges(t *testing.T) {
	tool := func(name, rest string) string { return fmt.Sprintf(`{"name":%q,"inputSchema":{}%s}`, name, rest) }
	base := func() []*offered {
		return []*offered{
			server(t, "a", 0).add(protocol.Tools, tool("x", ""), tool("y", `,"description":"d"`), tool("z", "")).prompts("p").resources("f:///1").templates("f:///{q}"),
			server(t, "b", 1).tools("x"),
		}
	}
	for _, tt := range []struct {
		name   string
		change func(a, b *offered) []*offered
		want   string
	}{
		{"nothing", func(a, b *offered) []*offered { return []*offered{a, b} }, ""},
		{"equal servers", func(_, _ *offered) []*offered { return base() }, ""},
		{"a server is removed", func(_, b *offered) []*offered { return []*offered{b} },
			"a tool-changed -3 tools (a_x, a_y, a_z); a prompt-changed -1 prompt (a_p); a resource-changed -1 resource (resource://a/f:///1); a template-changed -1 template (resource://a/f:///{q})"},
		{"a server is added", func(a, b *offered) []*offered { return []*offered{a, b, server(t, "aa", 2).tools("n")} },
			"aa tool-changed +1 tool (aa_n)"},
		{"members", func(a, b *offered) []*offered {
			a.Items[protocol.Tools] = nil
			return []*offered{a.add(protocol.Tools, tool("w", ""), tool("x", `,"annotations":{"readOnlyHint":true}`), tool("y", `,"description":"e","title":"t"`)), b}
		}, "a tool-changed +1 tool (a_w), -1 tool (a_z), ~2 tools (a_x: annotations, a_y: description, title)"},
		{"members in another order", func(a, b *offered) []*offered {
			b.Items[protocol.Tools] = nil
			return []*offered{a, b.add(protocol.Tools, `{"inputSchema":{"type":"object"},"name":"x"}`)}
		}, "b tool-changed ~1 tool (b_x)"},
		{"a tool is hidden", func(a, b *offered) []*offered {
			return []*offered{a.rules(func(s *config.Server) { s.Tools.Deny = []string{"y"} }), b}
		}, "a tool-changed -1 tool (a_y)"},
		{"another state", func(a, b *offered) []*offered {
			return []*offered{a.rules(func(*config.Server) {}), b.marked("cached")}
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := base()
			old := snapshot(standard(stylePrefix), before...)
			got := changesText(old, following(old, standard(stylePrefix), tt.change(before[0], before[1])...))
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func (o *offered) marked(state string) *offered {
	copied := *o.Server
	copied.State = state
	o.Server = &copied
	return o
}

// A change is small, however many items have changed and however long their names are.
func TestChangesAreBounded(t *testing.T) {
	long := strings.Repeat("€", 200)
	fill := func(o *offered, rest string) *offered {
		for i := range 60 {
			o.add(protocol.Resources, fmt.Sprintf(`{"uri":"f:///%d%s","name":"n"%s}`, i, long, rest))
		}
		return o
	}
	var members strings.Builder
	for i := range 50 {
		fmt.Fprintf(&members, `,"%d%s":1`, i, long)
	}
	empty := snapshot(standard(stylePrefix))
	full := following(empty, standard(stylePrefix), fill(server(t, "s", 0), ""))
	other := following(full, standard(stylePrefix), fill(server(t, "s", 0), members.String()))
	for what, list := range map[string][]status.CatalogChange{"added": Changes(empty, full), "changed": Changes(full, other), "removed": Changes(other, following(other, standard(stylePrefix)))} {
		if len(list) != 1 || list[0].Counts.Added+list[0].Counts.Changed+list[0].Counts.Removed != 60 {
			t.Fatalf("%s: %d changes, want one of 60 items", what, len(list))
		}
		c := list[0]
		if n := len(c.Added) + len(c.Removed) + len(c.Changed); n != maxNamed {
			t.Errorf("%s: %d items are named, want %d", what, n, maxNamed)
		}
		if text := c.Text(maxNamed); len(text) > maxNamed*(1+maxMembers)*(maxNamedBytes+10) {
			t.Errorf("%s: the text has %d bytes, which is too long", what, len(text))
		}
	}
}

// Large items are not compared in detail, because the registry has other messages to handle.
func TestLargeItemsAreNotCompared(t *testing.T) {
	large := func(text string) string {
		return fmt.Sprintf(`{"name":"large","description":%q,"inputSchema":{}}`, strings.Repeat(text, 900<<10))
	}
	old := snapshot(standard(stylePrefix), server(t, "s", 0).add(protocol.Tools, large("a"), `{"name":"small","title":"a"}`))
	next := following(old, standard(stylePrefix), server(t, "s", 0).add(protocol.Tools, large("b"), `{"name":"small","title":"b"}`))
	if got, want := changesText(old, next), "s tool-changed ~2 tools (s_large, s_small: title)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// BenchmarkChange builds the next snapshot of 10 000 tools of 100 servers, one of which lists one tool more or one tool
// fewer, and compares the two.
func BenchmarkChange(b *testing.B) {
	servers := big(b, 100, 100)
	previous := snapshot(standard(stylePrefix), servers...)
	with := servers[42].Items[protocol.Tools]
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		list := append([][]byte(nil), with[:len(with)-i%2]...) // a new slice, like a new list from a server
		servers[42].Items[protocol.Tools] = list
		next := following(previous, standard(stylePrefix), servers...)
		if changes := Changes(previous, next); i > 0 && len(changes) != 1 {
			b.Fatalf("%d changes", len(changes))
		}
		previous = next
	}
}

// BenchmarkChanges only compares the snapshots.
func BenchmarkChanges(b *testing.B) {
	servers := big(b, 100, 100)
	old := snapshot(standard(stylePrefix), servers...)
	servers[42].Items[protocol.Tools] = append([][]byte(nil), servers[42].Items[protocol.Tools][1:]...)
	next := following(old, standard(stylePrefix), servers...)
	for b.Loop() {
		if changes := Changes(old, next); len(changes) != 1 {
			b.Fatalf("%d changes", len(changes))
		}
	}
}

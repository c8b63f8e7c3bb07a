package catalog

import (
	"reflect"
	"slices"
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/internal/fieldtest"
	"goblin-actor/protocol"
)

// fieldSource returns a server whose items are affected by every rule.
func fieldSource(t *testing.T) *offered {
	o := server(t, "s", 0).add(protocol.Tools, `{"name":"plain","inputSchema":{"type":"object"}}`,
		`{"name":"legacy","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}`,
		`{"name":"modern","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}`,
		`{"name":"bad","inputSchema":{"type":7}}`, `{"name":"half","inputSchema":{"type":"object"},"outputSchema":{"items":7}}`).
		prompts("p").resources("f:///a").templates("f:///{x}")
	o.Server.Rules.Tools.Invalid = "hide"
	o.Server.Protocol = protocol.Version20251125
	return o
}

// pagesOf returns what clients of both eras see of a view.
func pagesOf(t *testing.T, v *View, kind protocol.ItemKind) [2]string {
	t.Helper()
	var pages [2]string
	for i, era := range []protocol.Era{protocol.EraLegacy, protocol.EraModern} {
		page, fault := v.Page(kind, era, "")
		if fault != nil {
			t.Fatal(fault)
		}
		pages[i] = string(page)
	}
	return pages
}

// If a change of a server changes what clients see of a list, the list's generation changes: in the whole catalog, and in the
// server's own view.
func TestGenerationsNoticeEveryField(t *testing.T) {
	base := fieldSource(t)
	naming := standard(stylePrefix)
	first := snapshot(naming, base)
	viewOf := func(s *Snapshot, key Key) *View {
		v, ok := s.View(key)
		if !ok {
			v = s.Nothing() // disabled
		}
		return v
	}
	notices := func(_ string, changed Server) bool {
		next := *base
		next.Server = &changed
		second := following(first, naming, &next)
		for _, key := range []Key{{}, {Server: "s"}} {
			old, now := viewOf(first, key), viewOf(second, key)
			for kind := range protocol.ItemKind(protocol.ItemKinds) {
				if pagesOf(t, old, kind) != pagesOf(t, now, kind) && old.Generation[kind] == now.Generation[kind] {
					return false
				}
			}
		}
		return true
	}
	fieldtest.Noticed(t, *base.Server, map[string]string{"State": "a list that becomes cached, or no longer is, has not changed"}, notices)
	modern := *base.Server
	modern.Protocol = protocol.Version20260728
	if !notices("Protocol", modern) {
		t.Error("a change of the era is not noticed")
	}
}

// A list that is reused under other rules equals the list parsed under these rules, with the same warnings.
func TestReusedListsFitTheRules(t *testing.T) {
	base := fieldSource(t)
	first := snapshot(standard(stylePrefix), base)
	fieldtest.Noticed(t, base.Server.Rules, nil, func(_ string, changed config.Server) bool {
		next := *base
		copied := *base.Server
		copied.Rules = changed
		next.Server = &copied
		reused, parsed := following(first, standard(stylePrefix), &next), snapshot(standard(stylePrefix), &next)
		return slices.Equal(reused.Warnings(), parsed.Warnings()) && reflect.DeepEqual(reused.Invalid("s"), parsed.Invalid("s")) &&
			slices.Equal(publicOf(reused.main), publicOf(parsed.main))
	})
	// The zero value hides nothing, so the case of a rule that hides the invalid tool is tested separately.
	hiding := base.rules(func(s *config.Server) { s.Tools.Deny = []string{"bad"} })
	second := following(first, standard(stylePrefix), hiding)
	if slices.Equal(second.Warnings(), first.Warnings()) || !slices.Equal(second.Warnings(), snapshot(standard(stylePrefix), hiding).Warnings()) {
		t.Errorf("warnings with bad denied: %q, before: %q", second.Warnings(), first.Warnings())
	}
	if third := following(second, standard(stylePrefix), fieldSource(t)); !slices.Equal(third.Warnings(), first.Warnings()) {
		t.Errorf("allowed again: %q, want %q", third.Warnings(), first.Warnings())
	}
}

// publicOf returns the public names of all items in a view.
func publicOf(v *View) (names []string) {
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		for _, e := range v.Entries(kind) {
			names = append(names, e.Public)
		}
	}
	return names
}

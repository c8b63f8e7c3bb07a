package catalog

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"goblin-actor/protocol"
)

// S0.4.2, S3.1.1: pages cover the list once, in order. nextCursor is set only if items remain. The bytes are rendered
// once.
func TestPages(t *testing.T) {
	var names []string
	for i := range 10 {
		names = append(names, fmt.Sprintf("t%d", i))
	}
	for size, want := range map[int]int{0: 1, 1: 10, 3: 4, 5: 2, 9: 2, 10: 1, 11: 1, -1: 1} {
		naming := standard(stylePrefix)
		naming.PageSize = size
		v := whole(naming, server(t, "s", 0).tools(names...))
		items, count := pages(t, v, protocol.Tools)
		if count != want || len(items) != 10 || !slices.IsSorted(items) {
			t.Errorf("size %d: %d pages, %d items; want %d, 10 in order", size, count, len(items), want)
		}
		one, _ := v.Page(protocol.Tools, protocol.EraLegacy, "")
		two, _ := v.Page(protocol.Tools, protocol.EraLegacy, "")
		if &one[0] != &two[0] {
			t.Errorf("size %d: the page was rendered twice", size)
		}
	}
	v := whole(standard(stylePrefix))
	for kind, want := range map[protocol.ItemKind]string{
		protocol.Tools: `{"tools":[]}`, protocol.Prompts: `{"prompts":[]}`, protocol.Resources: `{"resources":[]}`, protocol.Templates: `{"resourceTemplates":[]}`,
	} {
		if got, fault := v.Page(kind, protocol.EraLegacy, ""); fault != nil || string(got) != want {
			t.Errorf("got %s, %v; want %s", got, fault, want)
		}
	}
}

// Clients of each era get a tool in their era's form. The bytes are shared if nothing differs.
func TestPagesOfBothEras(t *testing.T) {
	const legacy, modern = `{"name":"a","execution":{"taskSupport":"required"}}`, `{"name":"a","outputSchema":{"type":"array"}}`
	plain := `{"name":"a"}`
	for _, c := range []struct{ protocol, tool, legacy, modern string }{
		{protocol.Version20251125, legacy, legacy, plain}, {protocol.Version20260728, modern, plain, modern},
		{protocol.Version20251125, modern, modern, modern}, {protocol.Version20260728, legacy, legacy, legacy}, {"", legacy, legacy, legacy},
	} {
		o := server(t, "s", 0).add(protocol.Tools, c.tool)
		o.Server.Protocol = c.protocol
		s := snapshot(standard(stylePrefix), o)
		v, _ := s.View(Key{Server: "s"})
		for era, want := range map[protocol.Era]string{protocol.EraLegacy: c.legacy, protocol.EraModern: c.modern} {
			if got, _ := v.Page(protocol.Tools, era, ""); string(got) != `{"tools":[`+want+`]}` {
				t.Errorf("%s, %s client: %s, want %s", c.protocol, era, got, want)
			}
		}
		old, _ := s.main.Page(protocol.Tools, protocol.EraLegacy, "")
		again, _ := s.main.Page(protocol.Tools, protocol.EraModern, "")
		if same := &old[0] == &again[0]; same != (c.legacy == c.modern) {
			t.Errorf("%s %s: both eras share a page: %v, want %v", c.protocol, c.tool, same, !same)
		}
		o.Server = &Server{Name: "s", Protocol: protocol.Version20250326} // the server reconnects with another era
		changed := following(s, standard(stylePrefix), o).Generation[protocol.Tools] != s.Generation[protocol.Tools]
		if want := c.protocol != protocol.Version20251125; changed != want {
			t.Errorf("%s %s: the list counts as changed: %v, want %v", c.protocol, c.tool, changed, want)
		}
	}
}

func TestBadCursor(t *testing.T) {
	naming := standard(stylePrefix)
	naming.PageSize = 1
	v := whole(naming, server(t, "s", 0).tools("a", "b", "c").prompts("p", "q"))
	_, good := page1(t, v, protocol.Tools, "")
	encode := base64.RawURLEncoding.EncodeToString
	for _, cursor := range []string{"x", "!", "AAAA", good + "A", good[1:], good + "=", encode([]byte("g\x00")), encode([]byte("g\x00\x00")),
		encode([]byte("g\x01\x00key")), encode([]byte("h\x00\x00key")), encode([]byte("g\x00" + strings.Repeat("\xff", 12))), strings.Repeat("A", 1<<16)} {
		if cursor == good+"A" {
			continue // a cursor with another key is valid
		}
		result, fault := v.Page(protocol.Tools, protocol.EraLegacy, cursor)
		if fault == nil || fault.Name != protocol.InvalidParams || fault.Code(protocol.EraModern) != -32602 || result != nil {
			t.Errorf("Page(%.40q) = %s, %v; want -32602 and no result", cursor, result, fault)
		}
	}
	if _, fault := v.Page(protocol.Prompts, protocol.EraLegacy, good); fault == nil {
		t.Error("a cursor of another list was accepted")
	}
	if result, fault := v.Page(protocol.Tools, protocol.EraLegacy, encode([]byte("g\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01zzz"))); fault != nil || string(result) != `{"tools":[]}` {
		t.Errorf("a cursor beyond the end: %s, %v; want an empty page", result, fault)
	}
}

// A cursor continues after its key, whatever was added or removed.
func TestCursorOutlivesItsSnapshot(t *testing.T) {
	naming := standard(stylePrefix)
	naming.PageSize = 2
	first := whole(naming, server(t, "s", 0).tools("b", "d", "f", "h"))
	_, cursor := page1(t, first, protocol.Tools, "")
	for _, tt := range []struct{ now, want []string }{
		{[]string{"b", "d", "f", "h"}, []string{"s_f", "s_h"}},
		{[]string{"a", "b", "c", "d", "e", "f"}, []string{"s_e", "s_f"}},
		{[]string{"b", "f"}, []string{"s_f"}}, // the item of the key was removed
		{[]string{"a"}, nil},
		{nil, nil},
	} {
		items, next := page1(t, whole(naming, server(t, "s", 0).tools(tt.now...)), protocol.Tools, cursor)
		if len(items) != len(tt.want) || next != "" {
			t.Errorf("%q: got %q, next %q; want %q and no cursor", tt.now, items, next, tt.want)
		}
		for i, want := range tt.want {
			if !strings.Contains(items[i], `"name":"`+want+`"`) {
				t.Errorf("%q: item %d is %s, want %s", tt.now, i, items[i], want)
			}
		}
	}

	alone := func(names ...string) *View {
		v, _ := snapshot(naming, server(t, "s", 0).tools(names...)).View(Key{Server: "s"})
		return v
	}
	_, cursor = page1(t, alone("z", "m", "a", "k"), protocol.Tools, "")
	for _, tt := range []struct{ now, want string }{{"z m a k", "a"}, {"q z m a k", "a"}, {"z a k", "a"}, {"m", ""}} { // in the server's order
		items, _ := page1(t, alone(strings.Fields(tt.now)...), protocol.Tools, cursor)
		if tt.want == "" && len(items) > 0 || tt.want != "" && !strings.Contains(items[0], `"`+tt.want+`"`) {
			t.Errorf("%s: got %q, want first %q", tt.now, items, tt.want)
		}
	}
}

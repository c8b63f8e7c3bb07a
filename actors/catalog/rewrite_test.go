package catalog

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// S0.4.1, S2.2.1, S2.3.2, S4.1.1, C16: only names and the gateway's _meta members change, and a _meta that is not an object is
// replaced. All other bytes keep their values and order.
func TestRewrite(t *testing.T) {
	// S1.57
	const meta = `"goblin-actor/name":"t","goblin-actor/server":"s"`
	for _, tt := range []struct{ name, in, want string }{
		{"no meta", `{"name":"t","x":1.0e+3,"big":9007199254740993,"esc":"\u00e9<>&"}`,
			`{"_meta":{` + meta + `},"name":"s_t","x":1.0e+3,"big":9007199254740993,"esc":"\u00e9<>&"}`},
		{"spaces", "{ \"inputSchema\" : { } ,\n \"name\" :\t\"t\" }", "{\"_meta\":{" + meta + "}, \"inputSchema\" : { } ,\n \"name\" :\t\"s_t\" }"},
		{"meta", `{"_meta":{"k":[1,2]},"name":"t"}`, `{"_meta":{` + meta + `,"k":[1,2]},"name":"s_t"}`},
		{"empty meta", `{"name":"t","_meta":{}}`, `{"name":"s_t","_meta":{` + meta + `}}`},
		{"escaped name", `{"name":"\u0074"}`, `{"_meta":{` + meta + `},"name":"s_t"}`},
		{"null meta", `{"name":"t","_meta":null}`, `{"_meta":{` + meta + `},"name":"s_t"}`},
		{"meta of another type", `{"name":"t","_meta":[]}`, `{"name":"s_t","_meta":{` + meta + `}}`},
		{"members that only the gateway may set", `{"_meta":{"goblin-actor/server":"bank","k": 1e2,"goblin-actor/state":"cached"},"name":"t"}`,
			`{"_meta":{` + meta + `,"k": 1e2},"name":"s_t"}`},
		{"such a member twice, once escaped", `{"name":"t","_meta":{"\u0067oblin-actor/server":"bank","goblin-actor/server":"safe"}}`,
			`{"name":"s_t","_meta":{` + meta + `}}`},
		{"another member with the gateway's prefix", `{"name":"t","_meta":{ "goblin-actor/other" : {"goblin-actor/name":2} }}`,
			`{"name":"s_t","_meta":{` + meta + `, "goblin-actor/other" : {"goblin-actor/name":2} }}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := whole(standard(stylePrefix), server(t, "s", 0).add(protocol.Tools, tt.in))
			entries := v.Entries(protocol.Tools)
			if len(entries) != 1 {
				t.Fatalf("%d entries, want 1; warnings %q", len(entries), v.Snapshot().Warnings())
			}
			var a, b any
			if json.Unmarshal(entries[0].Raw(), &a) != nil || json.Unmarshal([]byte(tt.want), &b) != nil {
				t.Fatalf("not JSON: %s", entries[0].Raw())
			}
			if got := string(entries[0].Raw()); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if string(entries[0].Source) != tt.in {
				t.Errorf("the source became %s", entries[0].Source)
			}
		})
	}
}

// The items of a catalog from the state file are marked as cached.
func TestCachedState(t *testing.T) {
	s := server(t, "s", 0).tools("t").resources("f:///x")
	s.Server.State = "cached"
	v := whole(standard(stylePrefix), s)
	for _, kind := range []protocol.ItemKind{protocol.Tools, protocol.Resources} {
		if raw := string(v.Entries(kind)[0].Raw()); !strings.Contains(raw, `"goblin-actor/state":"cached"`) {
			t.Errorf("got %s, want it marked as cached", raw)
		}
	}
}

// A single server with namespace never, style original and no meta tools passes through unchanged, as at /s/<server>.
func TestPassThrough(t *testing.T) {
	naming := Naming{Namespace: config.Namespace{Mode: "never", Separator: "_", MaxLength: 8}, URIStyle: styleOriginal, PageSize: 2}
	give := func() *offered {
		return server(t, "s", 0).
			add(protocol.Tools, `{"name":"zzz with spaces and more"}`, `{ "name":"a" , "_meta":{"goblin-actor/server":"x"}}`, `{"name":"m"}`).
			resources("z://1", "a://1").templates("t://{x}").prompts("p.p")
	}
	check := func(t *testing.T, v *View) {
		t.Helper()
		if !v.PassThrough() {
			t.Fatal("the view does not pass items through unchanged")
		}
		items, count := pages(t, v, protocol.Tools)
		if want := []string{`{"name":"zzz with spaces and more"}`, `{ "name":"a" , "_meta":{"goblin-actor/server":"x"}}`, `{"name":"m"}`}; count != 2 || !slices.Equal(items, want) {
			t.Errorf("%d pages of %q, want 2 of %q", count, items, want)
		}
		for name, want := range map[string]string{"zzz with spaces and more": "s zzz with spaces and more", "a": "s a", "s:a": "s a", "s_a": "TOOL_NOT_FOUND"} {
			if got := tool(v, name); got != want {
				t.Errorf("Tool(%q) = %s, want %s", name, got, want)
			}
		}
		for uri, want := range map[string]string{"z://1": "s z://1", "t://1": "s t://1", "resource://s/a://1": "s a://1", "u://1": "RESOURCE_NOT_FOUND"} {
			if got := found(v, uri); got != want {
				t.Errorf("Resource(%q) = %s, want %s", uri, got, want)
			}
		}
		if got := v.PublicURI(v.Servers()[0], "any://thing"); got != "any://thing" {
			t.Errorf("PublicURI = %q, want any://thing", got)
		}
	}
	check(t, whole(naming, give()))

	alone := snapshot(standard(stylePrefix), give(), server(t, "other", 1).tools("a"))
	alone.naming.PageSize = 2
	v, ok := alone.View(Key{Server: "s"})
	if !ok || len(v.Servers()) != 1 {
		t.Fatal("no view of the server alone")
	}
	check(t, v)
	if again, _ := alone.View(Key{Server: "s"}); again != v {
		t.Error("the view was built twice")
	}

	withMeta := naming
	withMeta.MetaTools = true
	renaming := give().rules(func(s *config.Server) { s.Tools.Rename = map[string]string{"a": "b"} })
	for name, v := range map[string]*View{
		"meta tools": whole(withMeta, give()), "two servers": whole(naming, give(), server(t, "o", 1)), "always": whole(standard(styleOriginal), give()),
		"renaming": whole(naming, renaming),
	} {
		if v.PassThrough() {
			t.Errorf("%s: items are passed through", name)
		}
	}
	disabled := server(t, "off", 1).tools("x").rules(func(s *config.Server) { s.Disabled = true })
	if !whole(naming, give(), disabled).PassThrough() {
		t.Error("a disabled server prevents passing through")
	}
	hidden, _ := snapshot(standard(stylePrefix), give().rules(func(s *config.Server) { s.Tools.Deny = []string{"a"} })).View(Key{Server: "s"})
	if got := tool(hidden, "a"); got != "TOOL_NOT_FOUND" || len(hidden.Entries(protocol.Tools)) != 2 {
		t.Errorf("filters do not apply to the server's own view: a is %s", got)
	}
}

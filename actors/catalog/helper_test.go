package catalog

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// styles are the URI styles under which the scenario tests run.
var styles = []string{stylePrefix, styleUnderscore}

func standard(style string) Naming {
	return Naming{Namespace: config.Namespace{Mode: "always", Separator: "_", MaxLength: 64}, URIStyle: style, PageSize: 1000, MetaTools: true}
}

func mode(m string) Naming {
	n := standard(stylePrefix)
	n.Namespace.Mode = m
	return n
}

// offered builds a Source.
type offered struct {
	Source
	t testing.TB
}

// server returns a source with that position in the configuration.
func server(t testing.TB, name string, order int) *offered {
	return &offered{Source{Server: &Server{Name: name, Order: order}}, t}
}

func (o *offered) rules(change func(*config.Server)) *offered {
	copied := *o.Server
	change(&copied.Rules)
	o.Server = &copied
	return o
}

func (o *offered) add(kind protocol.ItemKind, raws ...string) *offered {
	list := append([][]byte(nil), o.Items[kind]...) // a new slice: the list has changed
	for _, raw := range raws {
		list = append(list, []byte(raw))
	}
	o.Items[kind] = list
	return o
}

func (o *offered) tools(names ...string) *offered {
	for _, n := range names {
		o.add(protocol.Tools, fmt.Sprintf(`{"name":%s,"inputSchema":{"type":"object"}}`, rawjson.Quote(n)))
	}
	return o
}

func (o *offered) prompts(names ...string) *offered {
	for _, n := range names {
		o.add(protocol.Prompts, fmt.Sprintf(`{"name":%s}`, rawjson.Quote(n)))
	}
	return o
}

func (o *offered) resources(uris ...string) *offered {
	for _, u := range uris {
		o.add(protocol.Resources, fmt.Sprintf(`{"uri":%s,"name":"n"}`, rawjson.Quote(u)))
	}
	return o
}

func (o *offered) templates(texts ...string) *offered {
	for _, u := range texts {
		o.add(protocol.Templates, fmt.Sprintf(`{"uriTemplate":%s,"name":"n"}`, rawjson.Quote(u)))
	}
	return o
}

// snapshot returns the first snapshot of these servers.
func snapshot(naming Naming, servers ...*offered) *Snapshot {
	return following(nil, naming, servers...)
}

func following(previous *Snapshot, naming Naming, servers ...*offered) *Snapshot {
	var sources []Source
	for _, o := range servers {
		sources = append(sources, o.Source)
	}
	return Build(previous, sources, naming)
}

// whole returns the view of everything.
func whole(naming Naming, servers ...*offered) *View {
	v, _ := snapshot(naming, servers...).View(Key{})
	return v
}

// listed returns the public names of a kind in list order. It checks that the items contain them.
func listed(t testing.TB, v *View, kind protocol.ItemKind) []string {
	t.Helper()
	out := []string{}
	for _, e := range v.Entries(kind) {
		var decoded map[string]any
		if err := json.Unmarshal(e.Raw(), &decoded); err != nil {
			t.Fatalf("%s: %v in %s", e.Public, err, e.Raw())
		}
		key := [protocol.ItemKinds]string{"name", "name", "uri", "uriTemplate"}[kind]
		if decoded[key] != e.Public {
			t.Errorf("%s contains the name %v", e.Public, decoded[key])
		}
		out = append(out, e.Public)
	}
	return out
}

// pages follows the cursors to the end and returns the raw items of all pages.
func pages(t testing.TB, v *View, kind protocol.ItemKind) (items []string, count int) {
	t.Helper()
	for cursor := ""; ; {
		raws, next := page1(t, v, kind, cursor)
		items, count = append(items, raws...), count+1
		if next == "" {
			return items, count
		}
		cursor = next
	}
}

// page1 fetches one page.
func page1(t testing.TB, v *View, kind protocol.ItemKind, cursor string) (items []string, next string) {
	t.Helper()
	result, fault := v.Page(kind, protocol.EraLegacy, cursor)
	if fault != nil {
		t.Fatalf("Page(%s, %q): %v", kind, cursor, fault)
	}
	var decoded map[string]json.RawMessage
	if err := json.Unmarshal(result, &decoded); err != nil {
		t.Fatalf("Page(%s, %q): %v in %s", kind, cursor, err, result)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(decoded[kind.ResultKey()], &list); err != nil {
		t.Fatal(err)
	}
	for _, raw := range list {
		items = append(items, string(raw))
	}
	if raw, ok := decoded["nextCursor"]; ok {
		_ = json.Unmarshal(raw, &next)
		if next == "" {
			t.Error("nextCursor is empty")
		}
	}
	return items, next
}

// found describes what a URI resolves to: server and original URI, or the fault.
func found(v *View, uri string) string {
	f, fault := v.Resource(uri)
	if fault != nil {
		return string(fault.Name) + strings.Join(fault.Candidates, ",")
	}
	return f.Server.Name + " " + f.Original
}

// tool describes what a name resolves to: server and original name, or the fault.
func tool(v *View, name string) string {
	e, fault := v.Tool(name)
	if fault != nil {
		return string(fault.Name)
	}
	return e.Server.Name + " " + e.Original
}

// result returns a frame with a result's JSON.
func result(t testing.TB, text string) *protocol.Frame {
	t.Helper()
	f := new(protocol.Frame)
	if err := f.Parse([]byte(`{"jsonrpc":"2.0","id":1,"result":` + text + `}`)); err != nil {
		t.Fatal(err)
	}
	return f
}

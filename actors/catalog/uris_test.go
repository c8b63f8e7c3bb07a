package catalog

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/namespace"
)

// both returns the two spellings of a URI.
func both(server, original string) map[string]string {
	return map[string]string{stylePrefix: namespace.PrefixURI(server, original), styleUnderscore: namespace.UnderscoreID(server, original)}
}

func otherStyle(style string) string {
	if style == stylePrefix {
		return styleUnderscore
	}
	return stylePrefix
}

// S0.1.1, S0.2.1, S0.2.2, S0.2.3, S0.4.1, S3.3.1, S3.3.2, S4.4.1: the resources of all servers are listed under URIs
// that name the server, in both styles. Each style is accepted under the other.
func TestResourceURIs(t *testing.T) {
	// S1.51, S1.62, S1.63
	for _, style := range styles {
		t.Run(style, func(t *testing.T) {
			v := whole(standard(style),
				server(t, "filesystem", 0).resources("file:///logs/app.log", "file:///config/app.json", "ui://app/main"),
				server(t, "s3", 1).resources("s3://bucket/config/app.json", "file:///config/app.json"),
				server(t, "empty", 2),
			)
			want := map[string]map[string]string{}
			for _, r := range [][2]string{
				{"filesystem", "file:///logs/app.log"}, {"filesystem", "file:///config/app.json"}, {"filesystem", "ui://app/main"},
				{"s3", "s3://bucket/config/app.json"}, {"s3", "file:///config/app.json"},
			} {
				want[r[0]+" "+r[1]] = both(r[0], r[1])
			}
			var publics []string
			for _, e := range v.Entries(protocol.Resources) {
				id := e.Server.Name + " " + e.Original
				publics = append(publics, e.Public)
				if e.Public != want[id][style] {
					t.Errorf("%s is %q, want %q", id, e.Public, want[id][style])
				}
				for _, spelling := range want[id] {
					if got := found(v, spelling); got != id {
						t.Errorf("Resource(%q) = %s, want %s", spelling, got, id)
					}
				}
				var item struct {
					Meta map[string]string `json:"_meta"`
				}
				if err := json.Unmarshal(e.Raw(), &item); err != nil || item.Meta[metaID] != want[id][otherStyle(style)] || item.Meta[metaServer] != e.Server.Name || item.Meta[metaName] != e.Original {
					t.Errorf("%s: _meta %v, %v; want the other spelling, the server and the original", id, item.Meta, err)
				}
			}
			if len(publics) != 5 || !slices.IsSorted(publics) {
				t.Errorf("got %q, want 5 sorted URIs", publics)
			}
			if counts := v.Snapshot().Counts("empty"); counts != [protocol.ItemKinds]int{} { // S0.1.3
				t.Errorf("the empty server has %v, want none", counts)
			}
		})
	}
	if got := both("filesystem", "file:///logs/app.log"); got[styleUnderscore] != "filesystem_file___logs_app.log" || got[stylePrefix] != "resource://filesystem/file:///logs/app.log" {
		t.Errorf("got %v, want the styles' documented forms", got)
	}
}

// S0.3.1, S0.3.2, S0.5.3, S0.6.1, S4.4.1: an expansion of a template, in either spelling or raw, leads to its server
// with the original URI.
func TestTemplates(t *testing.T) {
	// S1.52, S1.54, S1.64
	for _, style := range styles {
		t.Run(style, func(t *testing.T) {
			v := whole(standard(style),
				server(t, "db", 0).templates("mcp://database/{table}/{id}"),
				server(t, "web", 1).templates("https://web/{+path}").resources("https://web/listed"),
			)
			if got := v.Entries(protocol.Templates); len(got) != 2 || got[0].Public != both("db", "mcp://database/{table}/{id}")[style] {
				t.Errorf("templates: %v, want 2, the first of db", got)
			} else if got[0].Original != "mcp://database/{table}/{id}" || got[0].Server.Name != "db" || !strings.Contains(string(got[0].Source), `"name"`) { // S1.52
				t.Errorf("the entry of db is %+v, want db's original template", got[0])
			}
			if f, fault := v.Resource("resource://web/https://web/listed"); fault != nil || f.Entry.Kind != protocol.Resources { // S1.54: an exact URI takes precedence over a template
				t.Errorf("a listed URI that matches a template leads to %+v, %v; want the resource", f, fault)
			}
			for uri, want := range map[string]string{
				"resource://db/mcp://database/users/42":  "db mcp://database/users/42",
				"db_mcp___database_users_42":             "db mcp://database/users/42",
				"mcp://database/users/42":                "db mcp://database/users/42",
				"resource://web/https://web/a/b?c=d":     "web https://web/a/b?c=d",
				"https://web/listed":                     "web https://web/listed",
				"resource://web/mcp://database/users/42": "RESOURCE_NOT_FOUND", // another server's
				"resource://db/mcp://database/users":     "RESOURCE_NOT_FOUND",
				"mcp://database/users":                   "RESOURCE_NOT_FOUND",
				"resource://unknown/mcp://database/u/1":  "RESOURCE_NOT_FOUND",
			} {
				if got := found(v, uri); got != want {
					t.Errorf("Resource(%q) = %s, want %s", uri, got, want)
				}
			}
			for _, ref := range []string{
				"mcp://database/{table}/{id}", "resource://db/mcp://database/{table}/{id}", namespace.UnderscoreID("db", "mcp://database/{table}/{id}"),
				"resource://db/mcp://database/users/42",
			} {
				if e, fault := v.Template(ref); fault != nil || e.Original != "mcp://database/{table}/{id}" {
					t.Errorf("Template(%q) = %v, %v; want db's template", ref, e, fault)
				}
			}
			if e, fault := v.Template("resource://web/https://web/listed"); fault != nil || e.Kind != protocol.Resources {
				t.Errorf("Template of a resource: %v, %v; want the resource", e, fault)
			}
			if _, fault := v.Template("nope://{x}"); fault == nil || fault.Name != protocol.ResourceNotFound {
				t.Errorf("Template(nope): %v, want RESOURCE_NOT_FOUND", fault)
			}
		})
	}
}

// S0.3.3, S0.5.2: a URI that no list or template contains is not found, and the fault names it.
func TestUnknownURI(t *testing.T) {
	for _, style := range append(slices.Clone(styles), styleOriginal) {
		v := whole(standard(style), server(t, "files", 0).resources("file:///a").templates("x://{y}/z"))
		for _, uri := range []string{
			"", "file:///b", "resource://files/file:///b", "resource://files/", "resource://files", "resource://", "files_", "_",
			"files_file___b", "ui://files/file:///a", "resource://FILES/file:///a", "x://a/b/z", "\x00", strings.Repeat("x", 1<<20),
		} {
			_, fault := v.Resource(uri)
			if fault == nil || fault.Name != protocol.ResourceNotFound {
				t.Errorf("%s: Resource(%.40q): %v, want RESOURCE_NOT_FOUND", style, uri, fault)
			} else if len(uri) < 100 && fault.Error() != "Resource not found: "+uri || len(fault.Error()) > 2*maxShown {
				t.Errorf("%s: Resource(%.40q): message %.60q", style, uri, fault.Error())
			}
		}
	}
}

// S4.4.2: a server's own URI leads to its only owner. If there are several, the fault names the public URIs.
func TestRawURI(t *testing.T) {
	for _, style := range styles {
		t.Run(style, func(t *testing.T) {
			hide := func(uri string) func(*config.Server) {
				return func(s *config.Server) { s.ResourceFilter.Deny = []string{uri} }
			}
			v := whole(standard(style),
				server(t, "a", 0).resources("file:///one", "file:///two", "file:///hidden").rules(hide("file:///hidden")),
				server(t, "b", 1).resources("file:///two", "file:///hidden").templates("db://{x}", "file:///{x}.txt"),
				server(t, "c", 2).templates("db://{x}", "only://{x}").resources("file:///a.txt"),
			)
			for uri, want := range map[string]string{
				"file:///one":    "a file:///one",
				"file:///hidden": "b file:///hidden",
				"only://x":       "c only://x",
				"file:///two":    "AMBIGUOUS_URI" + both("a", "file:///two")[style] + "," + both("b", "file:///two")[style],
				"db://x":         "AMBIGUOUS_URIresource://b/db://x,resource://c/db://x",
				"file:///a.txt":  "AMBIGUOUS_URIresource://b/file:///a.txt," + both("c", "file:///a.txt")[style], // matched by one server, listed by the other
			} {
				if got := found(v, uri); got != want {
					t.Errorf("Resource(%q) = %s, want %s", uri, got, want)
				}
			}
			if _, fault := v.Template("db://{x}"); fault == nil || fault.Name != protocol.AmbiguousURI || len(fault.Candidates) != 2 {
				t.Errorf("Template(db://{x}): %v, want AMBIGUOUS_URI with 2 candidates", fault)
			}
			_, fault := v.Resource("db://x")
			for _, candidate := range fault.Candidates {
				if got := found(v, candidate); !strings.HasSuffix(got, " db://x") {
					t.Errorf("candidate %q leads to %s", candidate, got)
				}
			}
		})
	}
}

// A filter hides a resource by every spelling, also from the templates of its server.
func TestResourceFilters(t *testing.T) {
	for _, style := range append(slices.Clone(styles), styleOriginal) {
		v := whole(standard(style), server(t, "files", 0).resources("file:///open", "file:///secret", "file:///off").
			templates("file:///{+path}", "secret://{x}").
			rules(func(s *config.Server) {
				s.ResourceFilter = config.Filter{Deny: []string{"file:///secret*", "secret:*"}, Disabled: []string{"file:///off"}}
			}))
		if got := len(v.Entries(protocol.Resources)) + len(v.Entries(protocol.Templates)); got != 2 {
			t.Errorf("%s: %d items are listed, want 2", style, got)
		}
		for _, original := range []string{"file:///secret", "file:///secret/more", "file:///off", "secret://x"} {
			for _, uri := range []string{original, namespace.PrefixURI("files", original), namespace.UnderscoreID("files", original)} {
				if got := found(v, uri); got != "RESOURCE_NOT_FOUND" {
					t.Errorf("%s: Resource(%q) = %s, want RESOURCE_NOT_FOUND", style, uri, got)
				}
			}
		}
		if got := found(v, "resource://files/file:///other/x"); got != "files file:///other/x" {
			t.Errorf("%s: a permitted URI leads to %s", style, got)
		}
	}
}

// An allow list applies to listed resources and templates.
func TestResourceAllow(t *testing.T) {
	v := whole(standard(stylePrefix), server(t, "files", 0).resources("file:///pub/a", "file:///priv/a").templates("file:///pub/{x}", "file:///priv/{x}").
		rules(func(s *config.Server) { s.ResourceFilter.Allow = []string{"file:///pub/*"} }))
	for uri, want := range map[string]string{
		"file:///pub/a": "files file:///pub/a", "file:///pub/b": "files file:///pub/b", "file:///priv/a": "RESOURCE_NOT_FOUND", "file:///priv/b": "RESOURCE_NOT_FOUND",
	} {
		if got := found(v, uri); got != want {
			t.Errorf("Resource(%q) = %s, want %s", uri, got, want)
		}
	}
}

// S0.2.2, S0.2.3, S1.63: URIs with the same ID stay distinct: all but the first in the order of the original URIs get a
// suffix.
func TestUnderscoreCollision(t *testing.T) {
	v := whole(standard(styleUnderscore), server(t, "x", 0).resources("file:///a/b", "file:///a_b", "file:///a//b"))
	want := []string{"x_file___a_b", "x_file___a_b", "x_file___a_b"} // a//b, a/b, a_b by original URI
	for i, original := range []string{"file:///a//b", "file:///a/b", "file:///a_b"} {
		f, fault := v.Resource(namespace.PrefixURI("x", original))
		if fault != nil {
			t.Fatal(fault)
		}
		if suffixed := len(f.Entry.Public) == len(want[i])+7 && strings.HasPrefix(f.Entry.Public, want[i]+"~"); suffixed != (i > 0) {
			t.Errorf("%s is %q, want a suffix: %v", original, f.Entry.Public, i > 0)
		}
		if got := found(v, f.Entry.Public); got != "x "+original {
			t.Errorf("Resource(%q) = %s", f.Entry.Public, got)
		}
	}
}

// Style original uses the servers' own URIs. If two servers own a URI, the second gets style prefix. Among templates,
// the one with the most literal characters decides, then the order of the configuration.
func TestStyleOriginal(t *testing.T) {
	v := whole(standard(styleOriginal),
		server(t, "a", 0).resources("file:///x", "resource://b/file:///x").templates("file:///{+p}", "db://{x}"),
		server(t, "b", 1).resources("file:///x", "file:///y").templates("file:///logs/{name}", "db://{x}"),
	)
	if got := listed(t, v, protocol.Resources); !slices.Equal(got, []string{
		"file:///x", "file:///y", "resource://b/file:///x", namespace.UnderscoreSuffix("resource://b/file:///x", "b\x00file:///x")}) {
		t.Errorf("resources: got %q, want the URI of b's file:///x with a suffix", got)
	}
	if got := listed(t, v, protocol.Templates); !slices.Equal(got, []string{"db://{x}", "file:///logs/{name}", "file:///{+p}", "resource://b/db://{x}"}) {
		t.Errorf("templates: got %q, want b's db://{x} with a prefix", got)
	}
	for uri, want := range map[string]string{
		"file:///x":               "a file:///x",
		"file:///y":               "b file:///y",
		"resource://b/file:///x":  "a resource://b/file:///x",
		"b_file___x":              "b file:///x",
		"file:///logs/z":          "b file:///logs/z", // more literal characters
		"file:///other":           "a file:///other",
		"db://1":                  "a db://1", // equal templates: the order of the configuration decides
		"resource://b/db://1":     "b db://1",
		"resource://a/file:///zz": "a file:///zz",
	} {
		if got := found(v, uri); got != want {
			t.Errorf("Resource(%q) = %s, want %s", uri, got, want)
		}
	}
	if got := v.PublicURI(v.Servers()[1], "db://1"); got != "resource://b/db://1" {
		t.Errorf("PublicURI for b = %q, want resource://b/db://1", got)
	}
	if got := v.PublicURI(v.Servers()[0], "db://1"); got != "db://1" {
		t.Errorf("PublicURI for a = %q, want db://1", got)
	}
}

// S0.3.2: if several templates of a server match, the entry is the one with the most literal characters.
func TestMostLiteralTemplate(t *testing.T) {
	v := whole(standard(stylePrefix), server(t, "s", 0).templates("f:///{+p}", "f:///logs/{n}", "f:///{a}/{b}"))
	f, fault := v.Resource("resource://s/f:///logs/x")
	if fault != nil || f.Entry.Original != "f:///logs/{n}" {
		t.Errorf("got %v, %v; want f:///logs/{n}", f.Entry, fault)
	}
}

// A renamed resource is listed under the new URI and requested by its own.
func TestRenamedResource(t *testing.T) {
	for _, style := range styles {
		v := whole(standard(style), server(t, "s", 0).resources("file:///old").rules(func(s *config.Server) {
			s.ResourceFilter.Rename = map[string]string{"file:///old": "file:///new"}
		}))
		want := both("s", "file:///new")
		if got := listed(t, v, protocol.Resources); !slices.Equal(got, []string{want[style]}) {
			t.Errorf("got %q, want %q", got, want[style])
		}
		for _, uri := range []string{want[stylePrefix], want[styleUnderscore], "resource://s/file:///old", "file:///old"} {
			if got := found(v, uri); got != "s file:///old" {
				t.Errorf("Resource(%q) = %s, want s file:///old", uri, got)
			}
		}
		if got := v.PublicURI(v.Servers()[0], "file:///old"); got != want[style] {
			t.Errorf("PublicURI = %q, want %q", got, want[style])
		}
	}
}

package catalog

import (
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/internal/filter"
	"goblin-actor/protocol"
)

// An unlisted URI leads to the server that it names, or to the only server, if the configuration and filters allow
// it.
func TestUnlistedURIs(t *testing.T) {
	for _, style := range []string{stylePrefix, styleUnderscore, styleOriginal} {
		for policy, want := range map[string]bool{unlistedMentioned: true, unlistedForward: true, "refuse": false, "": false} {
			naming := standard(style)
			naming.Unlisted = policy
			v := whole(naming, server(t, "one", 0).resources("file:///a", "file:///hidden").templates("db://{x}", "off://{x}").rules(func(s *config.Server) {
				s.ResourceFilter.Deny = []string{"file:///hidden", "file:///secret/*", "off://{x}"}
			}), server(t, "two", 1))
			f, fault := v.Resource("resource://one/file:///b")
			if (fault == nil) != want || want && (f.Server.Name != "one" || f.Original != "file:///b" || f.Entry != nil || f.Unlisted != (policy == unlistedMentioned)) {
				t.Errorf("%s, %q: got %+v, %v; want found: %v", style, policy, f, fault, want)
			}
			for uri, want := range map[string]string{
				"resource://one/file:///a": "one file:///a", "resource://one/db://1": "one db://1",
				"resource://one/file:///hidden": "RESOURCE_NOT_FOUND", "resource://one/file:///%68idden": "RESOURCE_NOT_FOUND",
				"resource://one/file:///secret/x": "RESOURCE_NOT_FOUND", "resource://one/file:///x/../secret/x": "RESOURCE_NOT_FOUND",
				"resource://one/off://1":     "RESOURCE_NOT_FOUND",
				"resource://three/file:///b": "RESOURCE_NOT_FOUND", "file:///b": "RESOURCE_NOT_FOUND", "resource://one/": "RESOURCE_NOT_FOUND", "": "RESOURCE_NOT_FOUND",
			} {
				if got := found(v, uri); got != want {
					t.Errorf("%s, %q: %s leads to %s, want %s", style, policy, uri, got, want)
				}
			}
			if f, _ := v.Resource("resource://one/file:///a"); f.Unlisted {
				t.Errorf("%s, %q: a listed URI counts as unlisted", style, policy)
			}
			if got := v.PublicURI(v.Servers()[0], "file:///b"); got != "resource://one/file:///b" {
				t.Errorf("%s, %q: the public URI of an unlisted one is %s", style, policy, got)
			}
			if _, fault := v.Template("resource://one/file:///b"); fault == nil {
				t.Errorf("%s, %q: an unlisted URI can be completed", style, policy)
			}
			alone, _ := v.Snapshot().View(Key{Server: "one"})
			if got := found(alone, "file:///b"); (got == "one file:///b") != want {
				t.Errorf("%s, %q: in the server's own view an unlisted URI leads to %s, want found: %v", style, policy, got, want)
			}
		}
	}
}

// For any URI in all styles, with and without filters: nothing panics, the public URI of a resolved URI resolves to the
// same resource, and a denied URI is not found.
func FuzzResource(f *testing.F) {
	for _, s := range []string{"resource://a/x://y", "a_x___y", "ui://a/q", "x://y", "a_x___y~aaaaaa", "resource://b/a_x___y", "Z2d0AA", "resource://b/x://%79/../y", "resource://a/ui://q"} {
		f.Add(s)
	}
	var views []*View
	for _, style := range []string{stylePrefix, styleUnderscore, styleOriginal} {
		naming := standard(style)
		naming.Unlisted = unlistedForward
		snapshot := snapshot(naming, server(f, "a", 0).resources("x://y", "ui://q", "resource://b/x://y", "a_x___y").templates("x://{y}/{+z}", "ui://{q}", "{+all}"),
			server(f, "b", 1).resources("x://y", "x:y", "a_x___y", "resource://a/x://y").templates("x://{y}{?q*}", "resource://a/{x}").rules(func(s *config.Server) {
				s.ResourceFilter.Deny = []string{"secret:*"}
			}))
		alone, _ := snapshot.View(Key{Server: "b"})
		views = append(views, snapshot.main, alone)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for i, v := range views {
			if found, fault := v.Resource(s); fault == nil && found.Original != "" {
				public := v.PublicURI(found.Server, found.Original)
				if back, fault := v.Resource(public); fault != nil || back.Server.Name != found.Server.Name || back.Original != found.Original {
					t.Fatalf("view %d: %q leads to %s %q, whose public URI %q leads to %v %q", i, s, found.Server.Name, found.Original, public, fault, back.Original)
				}
				if found.Server.Name == "b" && filter.Glob("secret:*", found.Original) {
					t.Fatalf("view %d: %q leads to %q, which is denied", i, s, found.Original)
				}
			}
			v.Suspects(protocol.Resources, s)
			_, _ = v.Template(s)
			_, _ = v.Tool(s)
			for kind := range protocol.ItemKind(protocol.ItemKinds) {
				_, _ = v.Page(kind, protocol.EraLegacy, s)
			}
		}
	})
}

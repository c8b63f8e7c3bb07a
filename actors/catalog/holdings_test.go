package catalog

import (
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/protocol"

	"pgregory.net/rapid"
)

// Items keep their public names however lists grow, except in mode on-conflict.
func TestNamesAreKept(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		servers, naming := drawServers(rt), drawNaming(rt)
		if naming.Namespace.Mode == "on-conflict" { // in this mode, a second server with an item of that name takes the bare name from both
			naming.Namespace.Mode = "never"
		}
		var first []*offered
		for _, s := range servers {
			part := *s
			for kind, items := range s.Items {
				part.Items[kind] = items[:rapid.IntRange(0, len(items)).Draw(rt, "listed")]
			}
			first = append(first, &part)
		}
		before := snapshot(naming, first...)
		naming.PageSize++
		after := publicNames(following(before, naming, servers...).main)
		for id, public := range publicNames(before.main) {
			if after[id] != public {
				rt.Fatalf("%s was %q, is %q", id, public, after[id])
			}
		}
	})
}

// A name becomes free when its item is removed or the naming changes.
func TestNamesBecomeFree(t *testing.T) {
	naming := mode("never")
	a, b := server(t, "a", 0).tools("search"), server(t, "b", 1).tools("search")
	first := snapshot(naming, b)
	both := following(first, naming, a, b)
	if got := tool(both.main, "search"); got != "b search" {
		t.Errorf("search is %s, want b's as before", got)
	}
	if got := tool(following(both, naming, a).main, "search"); got != "a search" {
		t.Errorf("without b, search is %s; want a's", got)
	}
	if got := tool(following(first, mode("always"), a, b).main, "a_search"); got != "a search" {
		t.Errorf("under another naming, a_search is %s; want a's search", got)
	}
	renamed := b.rules(func(s *config.Server) { s.Tools.Rename = map[string]string{"search": "find"} })
	v := following(both, naming, a, renamed, server(t, "c", 2).tools("search")).main
	for name, want := range map[string]string{"find": "b search", listedBy(v, "a"): "a search", listedBy(v, "c"): "c search"} {
		if got := tool(v, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// listedBy returns the public name of a server's only tool.
func listedBy(v *View, server string) string {
	for _, e := range v.Entries(protocol.Tools) {
		if e.Server.Name == server {
			return e.Public
		}
	}
	return ""
}

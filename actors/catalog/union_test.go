package catalog

import (
	"fmt"
	"strings"
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

func TestUnionOfProjects(t *testing.T) {
	for _, c := range []struct {
		projects []string
		want     string
	}{
		{nil, ""}, {[]string{}, noProjects}, {[]string{"b"}, "b"}, {[]string{"b", "a"}, "a,b"}, {[]string{"a", "b", "a"}, "a,b"},
	} {
		was := fmt.Sprint(c.projects)
		if got := EncodeProjects(c.projects); got != c.want || fmt.Sprint(c.projects) != was {
			t.Errorf("EncodeProjects(%v): %q, want %q; it is %v afterwards", was, got, c.want, c.projects)
		}
	}
}

// A union of projects shows what any of them shows, under every spelling, and nothing else. It changes when one of
// them does.
func TestSeveralProjectsTogether(t *testing.T) {
	files := server(t, "files", 0).tools("read", "write").resources("file:///a", "file:///secret/b").templates("file:///{+path}")
	forge := server(t, "github", 1).tools("search", "delete")
	docs := server(t, "docs", 2).tools("search")
	list := []config.Project{
		{Name: "alpha", Servers: []string{"files"}, Tools: config.Filter{Deny: []string{"files_write"}}, Resources: config.Filter{Deny: []string{"*secret*"}}},
		{Name: "beta", Servers: []string{"github"}, Tools: config.Filter{Deny: []string{"github_delete"}}},
	}
	s := projects(nil, standard(stylePrefix), []*offered{files, forge, docs}, list...)
	for names, want := range map[string]string{
		"alpha,beta": "files_read github_search", "beta": "github_search", "alpha,omega": "files_read", "omega": "", noProjects: "", "omega,psi": "",
	} {
		v, ok := s.View(Key{Projects: names})
		if !ok {
			t.Fatalf("%s: no view", names)
		}
		if got := strings.Join(listed(t, v, protocol.Tools), " "); got != want {
			t.Errorf("%s: %s, want %s", names, got, want)
		}
	}
	both, _ := s.View(Key{Projects: "alpha,beta"})
	for _, name := range []string{"files_read", "files:read", "github/search"} {
		if _, fault := both.Tool(name); fault != nil {
			t.Errorf("%s: %v", name, fault)
		}
	}
	for _, name := range []string{"files_write", "files:write", "write", "github_delete", "docs_search", "docs:search"} {
		if _, fault := both.Tool(name); fault == nil || len(fault.Candidates) > 0 {
			t.Errorf("%s is found: %v", name, fault)
		}
	}
	for uri, found := range map[string]bool{"resource://files/file:///a": true, "resource://files/file:///other": true, "resource://files/file:///secret/b": false, "resource://files/file:///secret/c": false} {
		if _, fault := both.Resource(uri); (fault == nil) != found {
			t.Errorf("%s: %v, want found: %v", uri, fault, found)
		}
	}
	if _, ok := s.View(Key{Projects: "alpha,beta", Server: "docs"}); ok {
		t.Error("a server of neither project is in view")
	}
	if v, ok := s.View(Key{Projects: "alpha,beta", Server: "github"}); !ok || strings.Join(listed(t, v, protocol.Tools), " ") != "search" {
		t.Error("a server of one project is missing, or shows more than the projects do")
	}
	if again, _ := s.View(Key{Projects: "alpha,beta"}); again != both {
		t.Error("the view was built again for the same snapshot")
	}
	elsewhere := projects(s, standard(stylePrefix), []*offered{files, forge, server(t, "docs", 2).tools("search", "more")}, list...)
	if v, _ := elsewhere.View(Key{Projects: "alpha,beta"}); v.Generation[protocol.Tools] != both.Generation[protocol.Tools] || !v.SameList(protocol.Tools, both) {
		t.Error("a change outside both projects changes the generation")
	}
	here := projects(elsewhere, standard(stylePrefix), []*offered{files, server(t, "github", 1).tools("search", "delete", "push"), docs}, list...)
	if v, _ := here.View(Key{Projects: "alpha,beta"}); v.Generation[protocol.Tools] == both.Generation[protocol.Tools] || v.SameList(protocol.Tools, both) {
		t.Error("a change in one project does not change the generation")
	}
}

// The number of cached views is bounded, however many unions of projects principals have.
func TestManyUnions(t *testing.T) {
	var list []config.Project
	for i := range 40 {
		list = append(list, config.Project{Name: fmt.Sprintf("p%02d", i)})
	}
	s := projects(nil, standard(stylePrefix), []*offered{server(t, "files", 0).tools("read")}, list...)
	for i := range 39 {
		for j := range i {
			if v, ok := s.View(Key{Projects: list[j].Name + "," + list[i+1].Name}); !ok || len(v.Entries(protocol.Tools)) != 1 {
				t.Fatalf("the union of projects %d and %d does not list the tool", j, i+1)
			}
		}
	}
	if n := len(*s.derived.views.Load()); n > maxDerived {
		t.Errorf("%d views are cached, want at most %d", n, maxDerived)
	}
}

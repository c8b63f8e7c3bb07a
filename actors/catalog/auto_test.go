package catalog

import (
	"fmt"
	"strings"
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

func auto() Naming {
	n := standard(stylePrefix)
	n.AutoMeta = true
	return n
}

func ours(t *testing.T) Source {
	own := server(t, "goblin", 9).tools("call", "describe")
	own.Server.Internal = true
	return own.Source
}

func listedNames(t *testing.T, v *View) string {
	t.Helper()
	page, fault := v.Page(protocol.Tools, protocol.EraLegacy, "")
	if fault != nil {
		t.Fatal(fault.Message)
	}
	return string(page)
}

// The gateway's own tools are listed in views with more than 40 other tools. They are found by name in all views.
func TestMetaToolsAreListedAmongManyTools(t *testing.T) {
	names := func(n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprint("tool", i))
		}
		return list
	}
	for n, want := range map[int]bool{0: false, 1: false, 40: false, 41: true} {
		s := Build(nil, []Source{server(t, "files", 0).tools(names(n)...).Source, ours(t)}, auto())
		if got := strings.Contains(listedNames(t, s.Whole()), "goblin_describe"); got != want {
			t.Errorf("with %d other tools: listed %v, want %v", n, got, want)
		}
		if _, fault := s.Whole().Tool("goblin_describe"); fault != nil {
			t.Errorf("with %d other tools, goblin_describe is not found: %s", n, fault.Message)
		}
	}
}

// Whether the gateway's own tools are listed depends on the number of tools in the client's view, which a role or a project may
// limit.
func TestMetaToolsAreListedByView(t *testing.T) {
	var names []string
	for i := range 50 {
		names = append(names, fmt.Sprint("tool", i))
	}
	naming := under(auto(), config.Role{Name: "one", Tools: allows("files_tool7", "goblin_*")}, config.Role{Name: "all"})
	s := Build(nil, []Source{server(t, "files", 0).tools(names...).Source, ours(t)}, naming, config.Project{Name: "few", Tools: config.Filter{Deny: []string{"files_tool1*"}}},
		config.Project{Name: "many", Tools: config.Filter{Deny: []string{"files_tool7"}}})
	for _, c := range []struct {
		of    string
		view  *View
		tools int
		meta  bool
	}{{"few", s.Project("few"), 39, false}, {"many", s.Project("many"), 49, true}, {"one", of(t, s, "one"), 1, false}, {"all", of(t, s, "all"), 50, true}} {
		list := listedNames(t, c.view)
		if strings.Count(list, `"name":"files_tool`) != c.tools || strings.Contains(list, "goblin_describe") != c.meta {
			t.Errorf("%s lists %d tools, meta tools: %v; want %d, %v", c.of, strings.Count(list, `"name":"files_tool`), strings.Contains(list, "goblin_describe"), c.tools, c.meta)
		}
	}
}

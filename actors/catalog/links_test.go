package catalog

import (
	"encoding/json"
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

const linkingTool = `{"name":"show","inputSchema":{},"_meta":{"ui":{"resourceUri":"ui:\/\/app\/main","visibility":["model"]},"ui\/resourceUri":"ui://app/main","openai/outputTemplate":"ui://app/main","x":1}}`

// linkedTo returns the links of a server's tool as clients see them.
func linkedTo(t *testing.T, v *View, server string) (links []string) {
	t.Helper()
	for _, e := range v.Entries(protocol.Tools) {
		if e.Server.Name != server {
			continue
		}
		var tool struct {
			Meta struct {
				UI       struct{ ResourceURI string }
				Flat     string `json:"ui/resourceUri"`
				Template string `json:"openai/outputTemplate"`
			} `json:"_meta"`
		}
		if err := json.Unmarshal(e.Raw(), &tool); err != nil {
			t.Fatal(err)
		}
		links = append(links, tool.Meta.UI.ResourceURI, tool.Meta.Flat, tool.Meta.Template)
	}
	if len(links) != 3 {
		t.Fatalf("%s has %d links, want 3", server, len(links))
	}
	return links
}

// A tool's link leads to its own server, whether the page is listed or not, and keeps the scheme ui, which hosts
// require.
func TestLinksOfTools(t *testing.T) {
	for _, style := range append([]string{styleOriginal}, styles...) {
		for _, list := range []bool{true, false} {
			one, two := server(t, "one", 0).add(protocol.Tools, linkingTool), server(t, "two", 1).add(protocol.Tools, linkingTool)
			if list {
				one, two = one.resources("ui://app/main"), two.resources("ui://app/main")
			}
			v := whole(standard(style), one, two)
			for _, name := range []string{"one", "two"} {
				for _, link := range linkedTo(t, v, name) {
					if got := found(v, link); got != name+" ui://app/main" || link[:5] != "ui://" {
						t.Errorf("%s, listed %v: %s links to %s, which leads to %s", style, list, name, link, got)
					}
				}
			}
			if list && style == stylePrefix && linkedTo(t, v, "two")[0] != v.Entries(protocol.Resources)[1].Public {
				t.Error("the link is not the page's public URI")
			}
			for _, unknown := range []string{"ui://one/app/other", "ui://three/app/main"} {
				if got := found(v, unknown); got != "RESOURCE_NOT_FOUND" {
					t.Errorf("%s: %s leads to %s, want it not found", style, unknown, got)
				}
			}
			if _, fault := v.Template(linkedTo(t, v, "one")[0]); fault != nil != !list {
				t.Errorf("%s, listed %v: completion of a page: %v, want success only for a listed page", style, list, fault)
			}
			alone, _ := v.Snapshot().View(Key{Server: "two"})
			if got := found(alone, "ui://app/main"); linkedTo(t, alone, "two")[0] != "ui://app/main" || got != "two ui://app/main" {
				t.Errorf("%s, listed %v: in the server's own view it leads to %s", style, list, got)
			}
		}
	}
}

// A link changes with its page's name although the tool does not. A link to a hidden page does not lead to another
// server.
func TestLinksFollowTheirPages(t *testing.T) {
	one, two := server(t, "one", 0), server(t, "two", 1).resources("ui://app/main").add(protocol.Tools, linkingTool)
	first := snapshot(standard(styleOriginal), one, two)
	if got := linkedTo(t, first.main, "two")[0]; got != "ui://app/main" {
		t.Errorf("in style original the link is %s, want ui://app/main", got)
	}
	next := following(first, standard(stylePrefix), one, two)
	if got := linkedTo(t, next.main, "two")[0]; got != "ui://two/app/main" {
		t.Errorf("in style prefix the link is %s, want ui://two/app/main", got)
	}
	renamed := two.rules(func(s *config.Server) { s.ResourceFilter.Rename = map[string]string{"ui://app/main": "ui://app/other"} })
	last := following(next, standard(stylePrefix), one, renamed)
	if got := linkedTo(t, last.main, "two")[0]; got != "ui://two/app/other" || found(last.main, got) != "two ui://app/main" {
		t.Errorf("after a rule renamed the page, the link is %s; want ui://two/app/other", got)
	}
	hidden := two.rules(func(s *config.Server) { s.ResourceFilter.Deny = []string{"ui://*"} })
	v := following(next, standard(styleOriginal), one.resources("ui://app/main"), hidden).main
	if got := found(v, linkedTo(t, v, "two")[0]); got != "RESOURCE_NOT_FOUND" {
		t.Errorf("a hidden page leads to %s", got)
	}
}

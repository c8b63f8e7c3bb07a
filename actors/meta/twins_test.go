package meta

import (
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// A tool and a prompt with the same name and server are one search result, which names both kinds.
func TestSearchListsTwinsOnce(t *testing.T) {
	d := newFixture(t)
	d.has("web", protocol.Tools, described("fetch", "Fetch a URL."), described("summary", "Nothing of the kind."))
	d.has("web", protocol.Prompts, described("fetch", "Fetch a URL and read it."), described("summary", "Write an abstract."))
	d.has("other", protocol.Prompts, described("fetch", "Fetch a URL."))
	d.publish()
	type entry struct{ kind, name, also, server string }
	for _, c := range []struct {
		arguments string
		want      []entry
		total     int
	}{
		{`{"query":"fetch a url"}`, []entry{{"tool", "web_fetch", "prompt", "web"}, {"prompt", "other_fetch", "", "other"}}, 2},
		{`{"query":"fetch a url","kinds":["prompt"],"server":"web"}`, []entry{{"prompt", "web_fetch", "", "web"}}, 1},
		{`{"query":"fetch a url","kinds":["tool"]}`, []entry{{"tool", "web_fetch", "", "web"}}, 1},
		{`{"query":"abstract"}`, []entry{{"prompt", "web_summary", "tool", "web"}}, 1}, // the tool does not match the query
		{`{"query":"fetch a url","limit":1}`, []entry{{"tool", "web_fetch", "prompt", "web"}}, 2},
	} {
		page := d.page("", searchCatalog, c.arguments)
		var got []entry
		for _, item := range page.Items {
			got = append(got, entry{item.Kind, item.Name, item.Also, item.Server})
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %+v, want %+v", c.arguments, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %+v, want %+v", c.arguments, got, c.want)
			}
		}
		if page.Total != c.total {
			t.Errorf("%s: total %d, want %d", c.arguments, page.Total, c.total)
		}
	}
	// A twin that the project hides is not mentioned.
	d.projects = []config.Project{{Name: "p", Prompts: config.Filter{Deny: []string{"web_*"}}}}
	d.publish()
	if page := d.page("p", searchCatalog, `{"query":"fetch a url","server":"web"}`); page.Total != 1 || page.Items[0].Also != "" {
		t.Errorf("with the prompt hidden: %+v", page)
	}
}

package meta

import (
	"strings"
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/internal/policy"
	"goblin-actor/protocol"
)

// The gateway's tools do not reveal items that the caller's own lists do not show.
func TestAttack46MetaTools(t *testing.T) {
	d := newFixture(t)
	d.policy = policy.Compile(config.Policy{Present: true, Roles: []config.Role{{Name: "some", Servers: []string{"files"}, Tools: config.Filter{Deny: []string{"*delete"}}}}})
	d.rights = "some"
	d.has("files", protocol.Tools, described("read", "Reads marmalade."), described("delete", "Deletes marmalade."))
	d.has("hidden", protocol.Tools, described("eat", "Eats marmalade."))
	d.has("hidden", protocol.Prompts, `{"name":"spread"}`)
	d.publish()
	if got := strings.Join(d.found("", `{"query":"marmalade"}`), " "); got != "files_read" {
		t.Errorf("search found %s, want files_read", got)
	}
	for _, c := range []struct{ tool, arguments string }{
		{"describe_tool", `{"name":"files_delete"}`}, {"describe_tool", `{"name":"hidden_eat"}`}, {"describe_tool", `{"name":"hidden:eat"}`}, {"describe_prompt", `{"name":"hidden_spread"}`},
		{"server_status", `{}`}, {"catalog_tools", `{}`}, {"catalog_prompts", `{}`}, {"catalog_tools", `{"server":"hidden"}`},
	} {
		structured, text, _ := d.result("", c.tool, c.arguments)
		for _, secret := range []string{"Deletes", "Eats", "spread"} {
			if strings.Contains(structured, secret) {
				t.Errorf("%s %s reveals %s: %s", c.tool, c.arguments, secret, text)
			}
		}
		if strings.Contains(structured, "hidden") {
			t.Errorf("%s reveals the hidden server: %s", c.tool, structured)
		}
	}
}

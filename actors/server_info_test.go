package actors

import (
	"strings"
	"testing"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
)

// The configuration sets serverInfo and instructions, for all clients and for each project, in both eras.
func TestServerInfoAndInstructions(t *testing.T) {
	const all, alpha, plain = `{"name":"team","title":"The \"team\"","version":"test"}`, `{"name":"team-alpha","version":"test"}`, `{"name":"goblin-actor","version":"test"}`
	for _, c := range []struct {
		by           carrier
		change       func(*config.Config)
		info         string
		instructions string
	}{
		{carrier{}, func(*config.Config) {}, plain, ""},
		{carrier{}, withServerInfo, all, `"instructions":"Ask first.`},
		{projectCarriers("alpha")["path"], withServerInfo, alpha, `"instructions":"Only alpha.`},
		{projectCarriers("alpha")["header"], withServerInfo, alpha, `"instructions":"Only alpha.`},
	} {
		w := startHTTP(t, map[string]*actortest.Server{"one": answeringServer("a"), "two": answeringServer("b")}, func(cfg *config.Config) {
			twoProjects(cfg)
			c.change(cfg)
		})
		opened := w.initialize(c.by)
		if !strings.Contains(opened.body, `"serverInfo":`+c.info) || c.instructions != "" && !strings.Contains(opened.body, c.instructions) || c.instructions == "" && strings.Contains(opened.body, "instructions") {
			t.Errorf("%v: initialize: %s", c.by, opened.body)
		}
		discovered := w.send(c.by, "", 2, "server/discover", "")
		if !strings.Contains(discovered.body, `"io.modelcontextprotocol/serverInfo":`+c.info) || !strings.Contains(discovered.body, c.instructions) {
			t.Errorf("%v: server/discover: %s", c.by, discovered.body)
		}
		if called := w.send(c.by, "", 3, "tools/call", "one_a"); !strings.Contains(called.body, `"io.modelcontextprotocol/serverInfo":`+c.info) {
			t.Errorf("%v: tools/call: %s", c.by, called.body)
		}
	}
}

// withServerInfo sets serverInfo and instructions for all clients and for the first project.
func withServerInfo(cfg *config.Config) {
	cfg.ServerInfo, cfg.Instructions = config.ServerInfo{Name: "team", Title: `The "team"`}, "Ask first."
	cfg.Projects[0].ServerInfo, cfg.Projects[0].Instructions = config.ServerInfo{Name: "team-alpha"}, "Only alpha."
}

package actors

import (
	"strings"
	"testing"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
)

// The configuration says what the gateway is called and what it tells clients first, for all and for each project, in both eras.
func TestWhatTheGatewayIsCalled(t *testing.T) {
	const all, alpha, plain = `{"name":"team","title":"The \"team\"","version":"test"}`, `{"name":"team-alpha","version":"test"}`, `{"name":"goblin-actor","version":"test"}`
	for _, c := range []struct {
		of       carrier
		change   func(*config.Config)
		info     string
		greeting string
	}{
		{carrier{}, func(*config.Config) {}, plain, ""},
		{carrier{}, called, all, `"instructions":"Ask first.`},
		{in("alpha")["path"], called, alpha, `"instructions":"Only alpha.`},
		{in("alpha")["header"], called, alpha, `"instructions":"Only alpha.`},
	} {
		w := serveWeb(t, map[string]*actortest.Server{"one": answering("a"), "two": answering("b")}, func(cfg *config.Config) {
			inProjects(cfg)
			c.change(cfg)
		})
		opened := w.initialize(c.of)
		if !strings.Contains(opened.body, `"serverInfo":`+c.info) || c.greeting != "" && !strings.Contains(opened.body, c.greeting) || c.greeting == "" && strings.Contains(opened.body, "instructions") {
			t.Errorf("%v: initialize: %s", c.of, opened.body)
		}
		discovered := w.send(c.of, "", 2, "server/discover", "")
		if !strings.Contains(discovered.body, `"io.modelcontextprotocol/serverInfo":`+c.info) || !strings.Contains(discovered.body, c.greeting) {
			t.Errorf("%v: server/discover: %s", c.of, discovered.body)
		}
		if called := w.send(c.of, "", 3, "tools/call", "one_a"); !strings.Contains(called.body, `"io.modelcontextprotocol/serverInfo":`+c.info) {
			t.Errorf("%v: tools/call: %s", c.of, called.body)
		}
	}
}

func called(cfg *config.Config) {
	cfg.ServerInfo, cfg.Instructions = config.ServerInfo{Name: "team", Title: `The "team"`}, "Ask first."
	cfg.Projects[0].ServerInfo, cfg.Projects[0].Instructions = config.ServerInfo{Name: "team-alpha"}, "Only alpha."
}

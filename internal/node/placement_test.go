package node

import (
	"strings"
	"testing"

	"goblin-actor/internal/config"
)

// A server that must run on one node is not started by any, and the reason is shown. All others are not changed.
func TestPlacement(t *testing.T) {
	const file = `
cluster: {node: a, seeds: b, voters: [a], secrets: "${S}"}
mcpServers:
  everywhere: {command: x, run: each}
  remote: {url: "http://127.0.0.1:9/mcp"}
  once: {command: x, run: one}
  there: {command: x, run: b}
  first: {command: x, run: each, group: both}
  second: {command: x, run: a, group: both}
`
	cfg, report := config.Parse("goblin.yaml", []byte(file), func(string) (string, bool) { return strings.Repeat("s", 32), true })
	if cfg == nil {
		t.Fatal(report.Err())
	}
	place(cfg)
	faults := map[string]string{}
	for _, s := range cfg.Servers {
		faults[s.Written] = s.Fault
		for _, m := range s.Members {
			faults[m.Written] = m.Fault
		}
	}
	for name, want := range map[string]string{"everywhere": "", "remote": "", "once": "run: one", "there": "run: b", "first": "", "second": "run: a"} {
		if got, ok := faults[name]; !ok || (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

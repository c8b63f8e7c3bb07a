package node

import (
	"slices"
	"strings"
	"testing"

	"goblin-actor/internal/config"
)

const placedFile = `
cluster: {node: a, seeds: b, voters: [a], secrets: "${S}"}
mcpServers:
  everywhere: {command: x, run: each}
  remote: {url: "http://127.0.0.1:9/mcp"}
  once: {command: x, run: one}
  here: {command: x, run: a}
  there: {command: x, args: [y], env: {A: b}, cwd: /tmp, replicas: 3, run: b, startup: lazy, maxConcurrent: 7, isolation: leased, retry: {inFlight: idempotent}}
  api: {url: "http://127.0.0.1:9/mcp", headers: {Authorization: secret}, forwardHeaders: [{from: X-User, to: X-For, prefix: "u "}], auth: {type: none}, run: b}
  first: {command: x, run: each, group: both}
  second: {command: x, run: a, group: both}
`

func placed(t *testing.T, holder string) map[string]config.Server {
	t.Helper()
	cfg, report := config.Parse("goblin.yaml", []byte(placedFile), func(string) (string, bool) { return strings.Repeat("s", 32), true })
	if cfg == nil {
		t.Fatal(report.Err())
	}
	place(cfg, "a", func(string) (string, uint64) { return holder, 7 })
	servers := map[string]config.Server{}
	for _, s := range cfg.Servers {
		servers[s.Written] = s
	}
	return servers
}

// A server that cannot run in a cluster is not started by any node, and the reason is shown. All others are not changed.
func TestPlacement(t *testing.T) {
	servers := placed(t, "")
	for name, want := range map[string]string{"everywhere": "", "remote": "", "here": "", "there": "", "once": "", "first": "", "second": "run: a"} {
		if got, ok := servers[name]; !ok || (got.Fault == "") != (want == "") || !strings.Contains(got.Fault, want) {
			t.Errorf("%s: %q, want %q", name, got.Fault, want)
		}
	}
	for name, s := range servers { // the nodes have connections of their own to it
		if s.Shared != (name == "remote") {
			t.Errorf("%s: shared %v", name, s.Shared)
		}
	}
	if here := servers["here"]; here.Command != "x" || here.Hop != "" {
		t.Errorf("a server of this node: %+v", here)
	}
}

// A server that another node runs is one with a URL there. Nothing of how that node reaches it is left.
func TestServerOfAnotherNode(t *testing.T) {
	servers := placed(t, "")
	s := servers["there"]
	if s.Hop != "b" || !slices.Equal(s.URLs, []string{"https://b/s/there/mcp"}) || s.Type != "http" {
		t.Errorf("address: %q, %q, %q", s.Hop, s.URLs, s.Type)
	}
	if s.Command != "" || s.Args != nil || s.Env != nil || s.Cwd != "" || s.ReplicaCount() != 1 || s.MaxConcurrent != 0 || s.Startup != "eager" || s.Isolation != "class" || s.Retry.InFlight != "never" {
		t.Errorf("settings: %+v", s)
	}
	api := servers["api"]
	if api.Headers != nil || api.LogsIn() || !slices.Equal(api.ForwardHeaders, []config.ForwardHeader{{From: "X-User", To: "X-User"}}) {
		t.Errorf("headers: %v, forwarded %v, logs in %v", api.Headers, api.ForwardHeaders, api.LogsIn())
	}
}

// A server with run: one runs on the node that has its lease, with the token. For the other nodes it is a server of that node, or of none.
func TestServerOfOneNode(t *testing.T) {
	for _, c := range []struct{ holder, hop, fence string }{{"a", "", "7"}, {"b", "b", ""}, {"", "one", ""}} {
		s := placed(t, c.holder)["once"]
		if s.Hop != c.hop || s.Env[fenceVariable] != c.fence || (s.Command == "") != (c.hop != "") {
			t.Errorf("%q runs it: %+v", c.holder, s)
		}
	}
}

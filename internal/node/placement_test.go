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
  first: {url: "http://127.0.0.1:9/mcp", run: each, group: both, isolation: session, maxConcurrent: 7, retry: {inFlight: idempotent}, forwardHeaders: [{from: X-User, to: X-For}], tools: {deny: [y]}, labels: {l: "1"}}
  second: {command: y, replicas: 3, env: {A: b}, run: a, group: both}
  third: {command: z, replicas: 3, run: b, group: both}
  fourth: {url: "http://127.0.0.1:9/mcp", run: one, group: both}
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
		if s.MemberOf != "" {
			s.Written = "member " + s.Written
		}
		servers[s.Written] = s
	}
	return servers
}

// All servers can run in a cluster. Those of this node are not changed.
func TestPlacement(t *testing.T) {
	servers := placed(t, "")
	for _, name := range []string{"everywhere", "remote", "here", "there", "once", "first", "second", "third", "fourth"} {
		if got, ok := servers[name]; !ok || got.Fault != "" {
			t.Errorf("%s: %q", name, got.Fault)
		}
	}
	for name, s := range servers { // the nodes have connections of their own to it
		if s.Shared != (name == "remote" || name == "first") {
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

// A member of a group that runs on one node is reached there by its name, from all nodes. Its node has a server for it, which only nodes
// see. That server has the settings of the group, except for those that the nodes apply to its calls.
func TestMembersOfAGroup(t *testing.T) {
	servers := placed(t, "b")
	if s := servers["first"]; s.Hop != "" || !s.Shared || s.Retry.InFlight != "idempotent" || s.MaxConcurrent != 7 {
		t.Errorf("a member of each node: %+v", s)
	}
	for name, node := range map[string]string{"second": "a", "third": "b", "fourth": "b"} {
		s := servers[name]
		if s.Hop != node || !slices.Equal(s.URLs, []string{"https://" + node + "/s/" + name + "/mcp"}) || s.Command != "" || s.Env != nil || s.Isolation != "session" || s.ReplicaCount() != 1 || s.Group != "both" || s.LogsIn() {
			t.Errorf("%s: %+v", name, s)
		}
		if here, ok := servers["member "+name]; ok != (node == "a") || ok && here.Hop != "" {
			t.Errorf("%s has a server on this node: %v, %+v", name, ok, here)
		}
	}
	s := servers["member second"]
	if s.Name != "second" || s.Group != "" || s.MemberOf != "both" || s.Command != "y" || s.ReplicaCount() != 3 || s.Env["A"] != "b" || s.Env[fenceVariable] != "" {
		t.Errorf("the server of a member: %+v", s)
	}
	if s.Isolation != "session" || s.MaxConcurrent != 7 || s.Retry.InFlight != "never" || len(s.Tools.Deny)+len(s.Labels) > 0 || !slices.Equal(s.ForwardHeaders, []config.ForwardHeader{{From: "X-For", To: "X-For"}}) {
		t.Errorf("settings of the server of a member: %+v", s)
	}
	if away := servers["fourth"].Away; away == nil || !away.LogsIn() || servers["third"].Away != nil {
		t.Errorf("logins that the nodes share: %+v", away)
	}
}

// A member with run: one is a server of the node that has its lease. No node reaches it while none has the lease.
func TestMemberOfOneNode(t *testing.T) {
	for holder, hop := range map[string]string{"a": "a", "b": "b", "": "one"} {
		servers := placed(t, holder)
		s, here := servers["member fourth"]
		if servers["fourth"].Hop != hop || here != (holder == "a") || here && (s.Env[fenceVariable] != "7" || !s.LogsIn() || s.Hop != "") {
			t.Errorf("%q runs it: hop %q, here %v, %+v", holder, servers["fourth"].Hop, here, s)
		}
	}
}

// Whose login the members of a group use is decided by the first one, also if that runs on another node.
func TestLoginsOfAGroup(t *testing.T) {
	const file = `
cluster: {node: a, seeds: b, voters: [a], secrets: "${S}"}
mcpServers:
  first: {url: "http://127.0.0.1:9/mcp", run: b, group: g, auth: {type: oauth, as: principal}}
  second: {url: "http://127.0.0.1:9/mcp", run: each, group: g, auth: {type: oauth}}
`
	cfg, report := config.Parse("goblin.yaml", []byte(file), func(string) (string, bool) { return strings.Repeat("s", 32), true })
	if cfg == nil {
		t.Fatal(report.Err())
	}
	place(cfg, "a", func(string) (string, uint64) { return "", 0 })
	group := config.Gather(cfg).Servers[0]
	if group.LaneOf("user") != "user" || group.Members[0].LogsIn() || !group.Members[1].LogsIn() {
		t.Errorf("%+v", group)
	}
}

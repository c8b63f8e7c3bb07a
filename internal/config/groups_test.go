package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func grouped(t *testing.T, text string) *Config {
	t.Helper()
	c, report := Parse("goblin.yaml", []byte(text), func(string) (string, bool) { return "", false })
	if c == nil {
		t.Fatal(report.Faults)
	}
	return c
}

const forge = `
projects: {p: {servers: [solo, b]}}
mcpServers:
  a: {command: a, group: forge, replicas: 2, labels: {region: eu, kind: x}, prefix: f}
  solo: {command: s}
  b: {url: "http://127.0.0.1:1/mcp", group: forge, labels: {region: us, kind: x}}
  c: {command: "${MISSING}", group: forge, labels: {kind: x}}
`

// TestGather checks that a group becomes one server with the replicas of its members, and that Gather does not modify its
// argument.
func TestGather(t *testing.T) {
	c := grouped(t, forge)
	g := Gather(c)
	if len(c.Servers) != 4 || len(g.Servers) != 2 || g.Servers[0].Name != "forge" || g.Servers[1].Name != "solo" {
		t.Fatalf("%d servers, gathered %d; want 4 and 2: forge and solo", len(c.Servers), len(g.Servers))
	}
	s := &g.Servers[0]
	if s.ReplicaCount() != 4 || s.Prefix != "f" || s.Disabled || s.Fault != "" || len(s.Labels) != 1 || s.Labels["kind"] != "x" {
		t.Errorf("%d replicas, prefix %q, disabled %v, fault %q, labels %v; want 4 replicas, prefix f, and the label kind that all members share", s.ReplicaCount(), s.Prefix, s.Disabled, s.Fault, s.Labels)
	}
	var whose []string
	var run []bool
	for replica := range 5 {
		entry, _, runs := s.Replica(replica)
		whose, run = append(whose, entry.Name), append(run, runs)
	}
	if !slices.Equal(whose, []string{"a", "a", "b", "c", "forge"}) || !slices.Equal(run, []bool{true, true, true, false, false}) {
		t.Errorf("members of the replicas: %v, running: %v; want a a b c forge, with the first three running", whose, run)
	}
	if !slices.Equal(g.Projects[0].Servers, []string{"solo", "forge"}) || !slices.Equal(c.Projects[0].Servers, []string{"solo", "b"}) {
		t.Errorf("gathered, the project has servers %v; before %v; want the group instead of b only when gathered", g.Projects[0].Servers, c.Projects[0].Servers)
	}
	if again := Gather(g); again != g {
		t.Error("Gather changed a gathered configuration")
	}
}

// TestGroupWithoutRunningMembers checks that a group is disabled or misconfigured if none of its members can run.
func TestGroupWithoutRunningMembers(t *testing.T) {
	off := Gather(grouped(t, "mcpServers: {a: {command: a, group: g, disabled: true}, b: {command: b, group: g, disabled: true}}")).Servers[0]
	if !off.Disabled || off.Fault != "" {
		t.Errorf("all members disabled: disabled %v, fault %q; want disabled without a fault", off.Disabled, off.Fault)
	}
	broken := Gather(grouped(t, "mcpServers: {a: {command: a, group: g, disabled: true}, b: {command: '${MISSING}', group: g}}")).Servers[0]
	if broken.Disabled || broken.Fault == "" {
		t.Errorf("one member disabled, one misconfigured: disabled %v, fault %q; want a fault", broken.Disabled, broken.Fault)
	}
}

// TestDiffOfGroups checks that a changed connection key of a member, or a removed or disabled member, is a transport
// change of the group, and that other changes are not.
func TestDiffOfGroups(t *testing.T) {
	diff := func(old, next string) string {
		c := Diff(Gather(grouped(t, old)), Gather(grouped(t, next)))
		switch {
		case len(c.Transport) == 1 && len(c.Added)+len(c.Removed)+len(c.CatalogOnly) == 0:
			return "transport"
		case len(c.CatalogOnly) == 1 && len(c.Added)+len(c.Removed) == 0:
			return "catalog"
		case c.Empty():
			return "nothing"
		}
		return "more"
	}
	const two = "mcpServers: {a: {command: a, group: g}, b: {command: b, group: g, labels: {x: y}}}"
	for next, want := range map[string]string{
		two: "nothing",
		"mcpServers: {a: {command: a, group: g}, b: {command: other, group: g, labels: {x: y}}}":               "transport",
		"mcpServers: {a: {command: a, group: g}, b: {command: b, group: g, labels: {x: y}, disabled: true}}":   "transport",
		"mcpServers: {a: {command: a, group: g}}":                                                              "transport",
		"mcpServers: {a: {command: a, group: g}, b: {command: b, group: g, labels: {x: z}}}":                   "catalog",
		"mcpServers: {a: {command: a, group: g, timeout: 7s}, b: {command: b, group: g, labels: {x: y}}}":      "catalog",
		"mcpServers: {a: {command: a, group: g}, b: {command: b, group: g, labels: {x: y}, startTimeout: 5s}}": "catalog",
	} {
		if got := diff(two, next); got != want {
			t.Errorf("%s: %s, want %s", next, got, want)
		}
	}
}

// Clients count replicas in the order of the file, also those behind another node, which have one connection here.
func TestNamedReplicas(t *testing.T) {
	entry := func(name, hop string, replicas, behind int) Server {
		return Server{Name: name, Hop: hop, Replicas: replicas, HopReplicas: behind}
	}
	group := Server{Name: "g", Members: []Server{entry("a", "", 2, 0), entry("b", "n", 1, 3), entry("c", "", 1, 0)}}
	alone, away := entry("a", "", 2, 0), entry("b", "n", 1, 3)
	for _, c := range []struct {
		server *Server
		number int
		want   string
	}{
		{&group, 0, "a 0 at 0"}, {&group, 1, "a 1 at 1"}, {&group, 2, "b 0 at 2"}, {&group, 4, "b 2 at 2"}, {&group, 5, "c 0 at 3"}, {&group, 6, "none"}, {&group, -1, "none"}, {&group, 1 << 40, "none"},
		{&alone, 1, "a 1 at 1"}, {&alone, 2, "none"}, {&away, 2, "b 2 at 0"}, {&away, 3, "none"}, {&away, -1, "none"},
	} {
		got := "none"
		if entry, own, here, ok := c.server.NamedReplica(c.number); ok {
			got = fmt.Sprintf("%s %d at %d", entry.Name, own, here)
		}
		if got != c.want {
			t.Errorf("%s, replica %d: %s, want %s", c.server.Name, c.number, got, c.want)
		}
	}
}

// A member that runs on one node is reached by its name, so it cannot have the name of its group.
func TestMemberNamedLikeItsGroup(t *testing.T) {
	const file = `cluster: {node: a, seeds: b, secrets: "${S}"}
mcpServers:
  both: {command: x, group: both, run: RUN}
  second: {command: x, group: both, run: a}
`
	for run, want := range map[string]string{"each": "", "a": "a member with the name of its group requires run: each"} {
		_, report := Parse("goblin.yaml", []byte(strings.Replace(file, "RUN", run, 1)), func(string) (string, bool) { return strings.Repeat("s", 32), true })
		if err := report.Err(); (err == nil) != (want == "") || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("run: %s: %v, want %q", run, err, want)
		}
	}
}

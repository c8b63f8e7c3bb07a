package config

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"goblin-actor/protocol/namespace"
)

const clusterEnv = "SECRET=0123456789abcdef0123456789abcdef\nOLD=abcdef0123456789abcdef0123456789\nHOSTNAME=Web-1\nPOD_IP=10.0.0.7\n"

// clusterOf returns the section cluster of a file with the lines.
func clusterOf(t *testing.T, lines string) (Cluster, *Config, Report) {
	t.Helper()
	c, report := Parse("goblin.yaml", []byte("cluster: {"+lines+"}"), environ(clusterEnv))
	if c == nil {
		t.Fatalf("%s: %v", lines, report.Err())
	}
	return c.Cluster, c, report
}

// TestClusterValues checks defaults, and that names and addresses are completed.
func TestClusterValues(t *testing.T) {
	const secret = `secrets: "${SECRET}", `
	value := strings.Split(strings.Split(clusterEnv, "\n")[0], "=")[1]
	base := Cluster{Present: true, Name: "goblin", Node: "web-1", Listen: ":8731", Routes: ":8732", Seeds: []string{"b:8732"}, Secrets: []string{value}}
	with := func(change func(c *Cluster)) Cluster {
		c := base
		change(&c)
		return c
	}
	for lines, want := range map[string]Cluster{
		`node: "${HOSTNAME}", seeds: b`:                                              base,
		`node: web-1, seeds: "b:8732", listen: "", routes: "", voters: [], nats: {}`: base,
		`node: web-1, seeds: b, listen: "${POD_IP}:8731"`:                            with(func(c *Cluster) { c.Listen, c.Routes = "10.0.0.7:8731", "10.0.0.7:8732" }),
		`node: web-1, seeds: b, routes: "${POD_IP}:1"`:                               with(func(c *Cluster) { c.Listen, c.Routes, c.Seeds = "10.0.0.7:8731", "10.0.0.7:1", []string{"b:1"} }),
		`node: web-1, seeds: ["fd00::1", "[::1]", "[fd00::2]:3"], routes: "[::1]:2"`: with(func(c *Cluster) {
			c.Listen, c.Routes, c.Seeds = "[::1]:8731", "[::1]:2", []string{"[fd00::1]:2", "[::1]:2", "[fd00::2]:3"}
		}),
		`node: web-1, voters: Web-1, routes: ":7"`: with(func(c *Cluster) { c.Routes, c.Voters, c.Seeds = ":7", []string{"web-1"}, []string{"web-1:7"} }),
		`node: web-1, nats: {url: "tls://n:4222", credentials: c}, listen: "h.x:8731"`: with(func(c *Cluster) {
			c.Listen, c.Routes, c.Seeds, c.NATS = "h.x:8731", "", nil, ClusterNATS{[]string{"tls://n:4222"}, "c"}
		}),
	} {
		if got, _, _ := clusterOf(t, secret+lines); !cmp.Equal(want, got, cmp.Comparer(func(a, b []string) bool { return slices.Equal(a, b) })) {
			t.Errorf("%s:\n%s", lines, cmp.Diff(want, got))
		}
	}
	host, err := os.Hostname()
	if label, _, _ := strings.Cut(host, "."); err != nil || label == "localhost" {
		t.Skip("SKIPPED: this machine has no name")
	}
	if got, _, _ := clusterOf(t, secret+"seeds: b"); got.Node != namespace.Slug(host) {
		t.Errorf("on %s the node is %q", host, got.Node)
	}
}

// TestClusterAddresses checks that the addresses of a node have a host.
func TestClusterAddresses(t *testing.T) {
	const rest = `node: a, secrets: "${SECRET}", `
	for lines, want := range map[string][2]string{
		`seeds: [127.0.0.1]`:                                {"127.0.0.1:8731", "127.0.0.1:8732"},
		`seeds: [127.0.0.1], listen: ":5", routes: ":6"`:    {"127.0.0.1:5", "127.0.0.1:6"},
		`seeds: [127.0.0.1], listen: "${POD_IP}:5"`:         {"10.0.0.7:5", "10.0.0.7:8732"},
		`nats: {url: "nats://127.0.0.1"}`:                   {"127.0.0.1:8731", ""},
		`nats: {url: "nats://127.0.0.1"}, listen: "h:8731"`: {"h:8731", ""},
	} {
		c, _, _ := clusterOf(t, rest+lines)
		if listen, routes, err := c.Addresses(t.Context()); err != nil || [2]string{listen, routes} != want {
			t.Errorf("%s: %q, %q, %v", lines, listen, routes, err)
		}
	}
}

// TestClusterSecretsAreHidden checks that no secret is shown, and that all of them are removed from the log.
func TestClusterSecretsAreHidden(t *testing.T) {
	_, c, report := clusterOf(t, `node: a, secrets: ["${SECRET}", "${OLD}"], nats: {url: "nats://ada:hunter2hunter2@n:4222"}`)
	var b bytes.Buffer
	if err := Show(&b, c, report); err != nil {
		t.Fatal(err)
	}
	for _, hidden := range []string{"0123456789abcdef0123456789abcdef", "abcdef0123456789abcdef0123456789", "hunter2hunter2"} {
		if strings.Contains(b.String(), hidden) || !slices.Contains(c.Secrets, hidden) {
			t.Errorf("%q: to hide are %q; shown:\n%s", hidden, c.Secrets, b.String())
		}
	}
	if !strings.Contains(b.String(), `secrets: ["${SECRET}", "${OLD}"]`) {
		t.Error(b.String())
	}
}

// TestClusterFiles checks that secrets are read from files, that readers who do not need the secrets do not read them, and that missing
// files of a certificate are reported.
func TestClusterFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "goblin.yaml")
	file := `cluster: {node: a, seeds: b, secrets: "${command:echo 0123456789abcdef0123456789abcdef}", tls: {cert: x, key: y, ca: z}}`
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, report := Outline(path); c == nil || report.Err() != nil {
		t.Errorf("Outline: %v", report.Err())
	}
	c, report := Load(path)
	if c == nil || len(c.Cluster.Secrets[0]) != 32 || len(report.Warnings) != 3 {
		t.Errorf("Load: %v, warnings %v", report.Err(), report.Warnings)
	}
	for _, alone := range []string{"", "mcpServers: {}"} {
		if c, _ := Parse("goblin.yaml", []byte(alone), noEnv); c.Cluster.Present {
			t.Errorf("%q has a cluster", alone)
		}
	}
}

// TestRunOfGroups checks that each member of a group keeps its own run.
func TestRunOfGroups(t *testing.T) {
	c, report := Parse("goblin.yaml", []byte(`{"cluster": {"node": "a", "seeds": "b", "secrets": "${SECRET}", "voters": "a"}, "mcpServers": {
		"x": {"command": "x", "group": "g", "run": "one"}, "y": {"url": "http://127.0.0.1:1", "group": "g"}, "z": {"command": "z", "run": "B.1"}}}`), environ(clusterEnv))
	if c == nil {
		t.Fatal(report.Err())
	}
	g := Gather(c)
	group := g.Servers[0]
	if got := []string{group.Run, group.Members[0].Run, group.Members[1].Run, g.Servers[1].Run}; !slices.Equal(got, []string{"", RunOne, RunEach, "b-1"}) {
		t.Errorf("run of the group, its members and z: %q", got)
	}
}

// TestDigest checks that the digest depends on what all nodes have in common, as written, and on nothing else.
func TestDigest(t *testing.T) {
	of := func(text, env string) string {
		t.Helper()
		c, report := Parse("goblin.yaml", []byte(text), environ(clusterEnv+env))
		if c == nil {
			t.Fatal(report.Err())
		}
		return c.Digest
	}
	const base = "listen: 127.0.0.1:1\ncluster: {node: a, listen: '10.0.0.1:1', routes: '10.0.0.1:2', seeds: b, secrets: '${SECRET}'}\nmcpServers: {s: {command: x, args: ['${HOSTNAME}', y], run: one-node}}\n"
	want := of(base, "")
	for name, text := range map[string]string{
		"layout":     "# comment\n" + strings.NewReplacer(", ", " ,  ", ": {", ":   {").Replace(base),
		"quotes":     strings.ReplaceAll(base, "'", `"`),
		"node":       strings.Replace(base, "node: a", "node: b", 1),
		"no node":    strings.Replace(base, "node: a, ", "", 1),
		"addresses":  strings.ReplaceAll(base, "10.0.0.1", "10.0.0.2"),
		"an anchor":  strings.Replace(base, "command: x", "command: &x x", 1),
		"no address": strings.Replace(base, "listen: '10.0.0.1:1', ", "", 1),
	} {
		if got := of(text, ""); got != want {
			t.Errorf("%s: the digest differs:\n%s", name, text)
		}
	}
	if got := of(base, "HOSTNAME=other\nSECRET=other-other-other-other-other-other\n"); got != want {
		t.Error("the digest depends on variables")
	}
	for name, text := range map[string]string{
		"a server":    strings.Replace(base, "{s: {", "{t: {command: x, run: each}, s: {", 1),
		"an argument": strings.Replace(base, ", y]", ", z]", 1),
		"one less":    strings.Replace(base, "', y]", " y']", 1),
		"a reference": strings.Replace(base, "${HOSTNAME}", "${POD_IP}", 1),
		"run":         strings.Replace(base, "one-node", "other", 1),
		"a seed":      strings.Replace(base, "seeds: b", "seeds: c", 1),
		"more seeds":  strings.Replace(base, "seeds: b", "seeds: [b]", 1),
		"listen":      strings.Replace(base, "127.0.0.1:1", "127.0.0.1:2", 1),
	} {
		if of(text, "") == want {
			t.Errorf("%s: the digest is the same:\n%s", name, text)
		}
	}
	if of("mcpServers: {}", "") != "" {
		t.Error("a file without cluster has a digest")
	}
}

// TestSameStart checks which changes to the section cluster a reload can apply.
func TestSameStart(t *testing.T) {
	const lines = `node: a, secrets: "${SECRET}", seeds: b`
	base, _, _ := clusterOf(t, lines)
	for changed, want := range map[string]bool{
		lines: true,
		`node: a, secrets: ["${OLD}", "${SECRET}"], seeds: b, tls: {cert: c, key: k, ca: a}`: true,
		`node: c, secrets: "${SECRET}", seeds: b`:                                            false,
		`node: a, secrets: "${SECRET}", seeds: [b, c]`:                                       false,
		`node: a, secrets: "${SECRET}", seeds: b, listen: ":1"`:                              false,
		`node: a, secrets: "${SECRET}", seeds: b, voters: a`:                                 false,
		`node: a, secrets: "${SECRET}", nats: {url: "tls://n"}`:                              false,
	} {
		if next, _, _ := clusterOf(t, changed); base.SameStart(next) != want {
			t.Errorf("%s: %v", changed, !want)
		}
	}
	if base.SameStart(Default().Cluster) {
		t.Error("a gateway without cluster may continue as a node")
	}
}

// TestClusterTLS checks which names the certificates of nodes may have.
func TestClusterTLS(t *testing.T) {
	const rest, files = `node: a, secrets: "${SECRET}", `, `cert: c, key: k, ca: a`
	for lines, want := range map[string]string{
		`seeds: [b, "c.example:1", 10.0.0.1], voters: d, tls: {` + files + `}`: "d a b c.example 10.0.0.1",
		`seeds: b, tls: {` + files + `, nodes: [x, y]}`:                        "x y a",
		`nats: {url: "tls://n"}, tls: {` + files + `, nodes: b}`:               "b a",
	} {
		c, _, report := clusterOf(t, rest+lines)
		if got := strings.Join(c.Peers(), " "); got != want || report.Err() != nil {
			t.Errorf("%s: %q, %v; want %q", lines, got, report.Err(), want)
		}
	}
	for lines, want := range map[string]string{
		`nats: {url: "tls://n"}, tls: {` + files + `}`:     "nodes is missing",
		`seeds: b, tls: {nodes: b}`:                        "cert, key and ca must be set together",
		`seeds: b, tls: {` + files + `, nodes: "*.x"}`:     "not a name or an address",
		`seeds: b, tls: {` + files + `, nodes: [a, "b/"]}`: "not a name or an address",
	} {
		if _, report := Parse("goblin.yaml", []byte("cluster: {"+rest+lines+"}"), environ(clusterEnv)); report.Err() == nil || !strings.Contains(report.Err().Error(), want) {
			t.Errorf("%s: %v, want %q", lines, report.Err(), want)
		}
	}
}

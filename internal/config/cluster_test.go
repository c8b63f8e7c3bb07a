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

// TestClusterSecretsAreHidden checks that no secret is shown, and that all of them are removed from the log.
func TestClusterSecretsAreHidden(t *testing.T) {
	_, c, report := clusterOf(t, `node: a, secrets: ["${SECRET}", "${OLD}", literal-literal-literal-literal-literal], nats: {url: "nats://ada:hunter2hunter2@n:4222"}`)
	var b bytes.Buffer
	if err := Show(&b, c, report); err != nil {
		t.Fatal(err)
	}
	for _, hidden := range []string{"0123456789abcdef0123456789abcdef", "abcdef0123456789abcdef0123456789", "literal-literal-literal-literal-literal", "hunter2hunter2"} {
		if strings.Contains(b.String(), hidden) || !slices.Contains(c.Secrets, hidden) {
			t.Errorf("%q: to hide are %q; shown:\n%s", hidden, c.Secrets, b.String())
		}
	}
	if !strings.Contains(b.String(), `secrets: ["${SECRET}", "${OLD}", "[redacted]"]`) {
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

package serving

import (
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"goblin-actor/internal/cluster"
	"goblin-actor/internal/config"
)

// A reload replaces the secrets of a cluster and the node's certificate, step by step, so that sessions and nodes of the step before are accepted.
func TestReloadReplacesTheSecrets(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"old", "new"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat(name, 11)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	load := func(node string, secrets ...string) *config.Config {
		t.Helper()
		path := filepath.Join(dir, "goblin.yaml")
		text := fmt.Sprintf("cluster: {node: %s, seeds: b, secrets: [%s]}\n", node, strings.Join(secrets, ", "))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, report := config.Load(path)
		if cfg == nil {
			t.Fatal(report.Err())
		}
		return cfg
	}
	const old, next = "'${file:old}'", "'${file:new}'"
	e, err := NewSecurity(load("a", old), true, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	id, err := e.ClusterSecrets().SealSession("abcdefg2", &cluster.SessionFacts{})
	if err != nil {
		t.Fatal(err)
	}
	previous := e.NodeTLS()
	for i, step := range [][]string{{old}, {old, next}, {next, old}, {next}} {
		if err := e.apply(load("renamed", step...)); err != nil {
			t.Fatal(err)
		}
		_, _, opened := e.ClusterSecrets().OpenSession(id)
		if accepted := slices.Contains(step, old); accepted != (opened == nil) {
			t.Errorf("step %d: opening a session of before: %v", i, opened)
		}
		current := e.NodeTLS()
		if i == 0 && current != previous {
			t.Error("a reload without a change made another certificate")
		}
		leaf, err := x509.ParseCertificate(current.Certificates[0].Certificate[0])
		if err != nil || leaf.DNSNames[0] != "a" {
			t.Errorf("step %d: certificate for %v, %v; want a", i, leaf, err)
		}
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: previous.RootCAs}); err != nil {
			t.Errorf("step %d: nodes of the step before do not accept the certificate: %v", i, err)
		}
		previous = current
	}
	id, err = e.ClusterSecrets().SealSession("abcdefg2", &cluster.SessionFacts{})
	if err != nil {
		t.Fatal(err)
	}
	faulty := load("a", next)
	faulty.Cluster.Secrets = []string{"short"}
	if err := e.apply(faulty); err == nil || e.NodeTLS() != previous {
		t.Errorf("secrets that cannot be used: %v", err)
	}
	if _, _, err := e.ClusterSecrets().OpenSession(id); err != nil {
		t.Errorf("after secrets that cannot be used: %v", err)
	}
}

// A gateway that runs alone has no secrets and no certificate, also if a reload adds a cluster.
func TestAloneHasNoNodeKeys(t *testing.T) {
	alone, report := config.Parse("goblin.yaml", []byte("mcpServers: {}"), os.LookupEnv)
	clustered, clusteredReport := config.Parse("goblin.yaml", []byte("cluster: {node: a, seeds: b, secrets: '${S}'}"), func(string) (string, bool) { return strings.Repeat("s", 32), true })
	if alone == nil || clustered == nil {
		t.Fatal(report.Err(), clusteredReport.Err())
	}
	e, err := NewSecurity(alone, true, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.apply(clustered); err != nil || e.ClusterSecrets() != nil || e.NodeTLS() != nil {
		t.Errorf("%v; secrets %v", err, e.ClusterSecrets())
	}
	stdio, err := NewSecurity(clustered, false, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer stdio.Close()
	if stdio.ClusterSecrets() != nil {
		t.Error("a gateway on stdio is a node")
	}
}

package serving

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors"
	"goblin-actor/internal/config"
)

// While the gateway listens on a public address, a configuration is rejected if it would not permit that address: one
// without keys, or one with keys but without TLS, a trusted proxy or `tls: off`.
func TestReloadDoesNotExposeListeners(t *testing.T) {
	for file, want := range map[string]bool{
		"auth: {keys: k}\ntls: {cert: c, key: k}":             false,
		"auth: {keys: k}\ntls: off":                           false,
		"listen: 127.0.0.1:8730\nauth: {keys: k}\ntls: off":   false,
		"listen: 127.0.0.1:8730\nauth: {keys: k}":             true,
		"listen: 127.0.0.1:8730":                              true,
		"listen: 127.0.0.1:8730\ntls: off":                    true,
		"listen: 127.0.0.1:8730\ntrustedProxies: [127.0.0.1]": true,
	} {
		cfg, report := config.Parse("goblin.yaml", []byte(file), func(string) (string, bool) { return "", false })
		if cfg == nil {
			t.Fatal(report.Err())
		}
		if err := exposes(cfg, []string{"127.0.0.1:1", "0.0.0.0:8730"}); (err != nil) != want {
			t.Errorf("%q while listening on 0.0.0.0: %v", file, err)
		}
		if err := exposes(cfg, []string{"127.0.0.1:1", "[::1]:1"}); err != nil {
			t.Errorf("%q while listening on loopback: %v", file, err)
		}
	}
}

// A file that is truncated while it is saved may be valid, but lack auth, policy or the audit log. A reload does not
// remove auth, policy and cluster, nor the audit log while it is required.
func TestReloadDoesNotDisarm(t *testing.T) {
	parse := func(file string) *config.Config {
		cfg, report := config.Parse("goblin.yaml", []byte(file), func(name string) (string, bool) { return strings.Repeat(name, 32), true })
		if cfg == nil {
			t.Fatal(report.Err())
		}
		return cfg
	}
	const auth, policy, audit = "auth: {keys: k}\n", "policy: {roles: {reader: {readOnly: true}}}\n", "audit: {file: a, required: true}\n"
	const cluster = "cluster: {node: a, seeds: b, secrets: '${S}'}\n"
	for _, c := range []struct{ was, next, want string }{
		{cluster, "", "the new configuration has no cluster;"},
		{"", cluster, ""},
		{auth + policy + audit, auth + policy + audit, ""},
		{auth + policy + audit, "", "the new configuration has no auth and no policy and no audit.file;"},
		{auth + policy, auth, "the new configuration has no policy;"},
		{auth + policy, policy, "the new configuration has no auth;"},
		{auth, "auth: {keys: other}\n", ""},
		{policy, "policy: {mode: report, roles: {reader: {}}}\n", ""},
		{audit, "audit: {file: a}\n", ""},
		{"audit: {file: a}\n", "", ""},
		{"", auth + policy + audit, ""},
	} {
		err := disarms(parse(c.was), parse(c.next))
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q after %q: %v, want %q", c.next, c.was, err, c.want)
		}
	}
}

// The drain time and the log level are in force once a reload has succeeded. A file that is rejected does not change
// them.
func TestReloadChangesSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "goblin.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("shutdown: {drain: 1h}\nlog: {level: warn}\nmcpServers: {}\n")
	cfg, report := config.Load(file)
	if cfg == nil {
		t.Fatal(report.Err())
	}
	log := slog.New(slog.DiscardHandler)
	g, err := actors.Start(cfg, actors.Options{Version: "test", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := Stop(g, 0); err != nil {
			t.Error(err)
		}
	}()
	security, err := NewSecurity(cfg, false, log)
	if err != nil {
		t.Fatal(err)
	}
	defer security.Close()
	level := new(slog.LevelVar)
	level.Set(levelOf(cfg.Log))
	r := NewReloader(cfg, nil, g, nil, security, level, Redactor(cfg), log)
	check := func(when string, drain time.Duration, lowest slog.Level) {
		t.Helper()
		if got := r.DrainTime(); got != drain {
			t.Errorf("%s: drain time %s, want %s", when, got, drain)
		}
		if got := level.Level(); got != lowest {
			t.Errorf("%s: log level %s, want %s", when, got, lowest)
		}
	}
	check("at the start", time.Hour, slog.LevelWarn)
	for _, c := range []struct {
		text     string
		accepted bool
		drain    time.Duration
		level    slog.Level
	}{
		{"shutdown: {drain: 2s}\nlog: {level: debug}\nmcpServers: {}\n", true, 2 * time.Second, slog.LevelDebug},
		{"shutdown: {drain: 3s}\nlog: {level: error}\nmcpServers: {}\nunknown: 1\n", false, 2 * time.Second, slog.LevelDebug},
		{"shutdown: {drain: 0s}\nmcpServers: {}\n", true, 0, slog.LevelInfo},
		{"mcpServers: {}\n", true, config.Default().Drain, slog.LevelInfo},
	} {
		write(c.text)
		if err := r.reload(t.Context()); (err == nil) != c.accepted {
			t.Fatalf("reload of %q: %v", c.text, err)
		}
		check(c.text, c.drain, c.level)
	}
}

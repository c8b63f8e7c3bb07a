package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"goblin-actor/internal/gatetest"
)

// When the file of a ${file:…} reference changes, it is read again. The old and the new value are redacted.
func TestSecretFileChanges(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, value := range map[string]string{"XDG_RUNTIME_DIR": gatetest.ShortDir(t), "XDG_STATE_HOME": dir, "GOBLIN_CONFIG": ""} {
		t.Setenv(name, value)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("token", "the-first-secret\n")
	write("goblin.yaml", `listen: 127.0.0.1:0
log: {level: debug}
mcpServers:
  telling: {command: sh, args: [-c, "echo \"$A has $${#A} bytes; the-first-secret\" >&2; exit 1"], env: {A: "${file:token}"}}
`)
	gateway := startPlanted(t, filepath.Join(dir, "goblin.yaml"))
	said := func(line string) {
		t.Helper()
		gatetest.WaitFor(t, line, func() (bool, string) {
			log := gateway.log.String()
			return strings.Contains(log, line), log
		})
	}
	said("[redacted] has 16 bytes; [redacted]")
	write("token", "the-second-secret\n")
	said("[redacted] has 17 bytes; [redacted]")
	if log := gateway.stop(t); strings.Contains(log, "the-first-secret") || strings.Contains(log, "the-second-secret") {
		t.Errorf("the log:\n%s", log)
	}
}

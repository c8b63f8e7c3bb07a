//go:build linux

package faults

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/gatetest"
)

// Invalid configuration files of many kinds and invalid addresses are refused with exit code 3, and an unknown flag with exit code 2. The error
// names the place or the cause. No refusal takes more than 3 s of CPU time.
func TestBadConfigurations(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		text string
		want []string
	}{
		"half a file":      {"mcpServers: [", []string{"goblin.yaml:1:"}},
		"no YAML":          {"\x00\x01\x02", []string{"goblin.yaml"}},
		"a list":           {"- a\n- b\n", []string{"goblin.yaml:1:1"}},
		"a number":         {"42", []string{"goblin.yaml:1:1"}},
		"unknown key":      {"mcpServers:\n  a:\n    comand: x\n", []string{"goblin.yaml:3:5", "mcpServers.a.comand", "command"}},
		"wrong type":       {"mcpServers:\n  a:\n    command: [x]\n", []string{"goblin.yaml:3:", "mcpServers.a.command"}},
		"twice":            {"mcpServers:\n  a: {command: x}\n  a: {command: y}\n", []string{"goblin.yaml:3:", "mcpServers.a"}},
		"two kinds":        {"mcpServers:\n  a: {command: x, url: 'http://x/'}\n", []string{"goblin.yaml:2:", "mcpServers.a"}},
		"neither":          {"mcpServers:\n  a: {}\n", []string{"goblin.yaml:2:", "mcpServers.a"}},
		"duration":         {"mcpServers:\n  a: {command: x, timeout: soon}\n", []string{"mcpServers.a.timeout"}},
		"negative":         {"mcpServers:\n  a: {command: x, maxConcurrent: -1}\n", []string{"mcpServers.a.maxConcurrent"}},
		"listens anywhere": {"listen: 0.0.0.0:0\n", []string{"listen", "loopback"}},
		"many at once":     {"lsten: x\nmcpServers:\n  a: {comand: x}\n  b: {timeout: 5}\n", []string{"listen", "mcpServers.a", "mcpServers.b"}},
		"deep":             {strings.Repeat("[", 50_000), []string{"goblin.yaml"}},
		"deep in a server": {"mcpServers: {a: " + strings.Repeat("{a: ", 10_000), []string{"goblin.yaml"}},
		"alias bomb":       {aliasBomb(), []string{"goblin.yaml"}},
		"too large":        {"# " + strings.Repeat("x", 5<<20), []string{"goblin.yaml"}},
		"JSON, cut off":    {`{"mcpServers":{"a":{"command":"x"`, []string{"goblin.yaml:1:"}},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "goblin.yaml")
		if err := os.WriteFile(file, []byte(x.text), 0o600); err != nil {
			t.Fatal(err)
		}
		refuses(t, name, dir, 3, append(x.want, "error"), "--config", file)
	}
	dir := t.TempDir()
	refuses(t, "no file", dir, 3, []string{"no such file"}, "--config", filepath.Join(dir, "nothing.yaml"))
	refuses(t, "a directory", dir, 3, []string{"directory"}, "--config", dir)
	refuses(t, "listens anywhere", dir, 3, []string{"loopback"}, "--demo", "--listen", "0.0.0.0:0")
	refuses(t, "no address", dir, 3, []string{"--listen"}, "--demo", "--listen", "nonsense")
	refuses(t, "no flag", dir, 2, []string{"--confg"}, "--confg", "x")
}

// aliasBomb returns a file whose aliases would expand to ten billion words.
func aliasBomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 10; i++ {
		n, last := string(rune('0'+i)), string(rune('0'+i-1))
		b.WriteString("a" + n + ": &a" + n + " [" + strings.TrimSuffix(strings.Repeat("*a"+last+", ", 10), ", ") + "]\n")
	}
	return b.String()
}

// refuses runs serve, which must exit by itself with the given code. Its output must contain all of want.
func refuses(t *testing.T, name, dir string, code int, want []string, args ...string) {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"serve"}, args...)...)
	var said bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stderr, cmd.Stdout = environment(dir), dir, &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(gatetest.Patience, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait()
	late.Stop()
	if got := cmd.ProcessState.ExitCode(); got != code || !containsAll(said.String(), want) {
		t.Errorf("%s: got exit code %d, want %d and output with %q:\n%.2000s", name, got, code, want, &said)
	}
	if used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(); used > 3*time.Second {
		t.Errorf("%s: refusing took %s", name, used)
	}
}

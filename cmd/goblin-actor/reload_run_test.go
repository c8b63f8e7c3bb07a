package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/cli"
	"goblin-actor/internal/gatetest"
)

// settled is how long a file must stay unchanged before the gateway reads it.
const settled = 200 * time.Millisecond

// After a reload, a gateway on stdin and stdout watches the files that the new configuration names.
func TestStdioWatchesFilesOfNewConfig(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	path := filepath.Join(first, "goblin.yaml")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	reads := func(dir string) string {
		return fmt.Sprintf("mcpServers: {a: {url: 'http://127.0.0.1:1/mcp', startup: lazy, headers: {X-Token: '${file:%s}'}}}\n", filepath.Join(dir, "token"))
	}
	write(filepath.Join(first, "token"), "hunter2hunter2")
	write(filepath.Join(second, "token"), "hunter3hunter3")
	write(path, reads(first))

	in, end := io.Pipe()
	log, done := &lockedBuffer{}, make(chan int, 1)
	go func() {
		done <- cli.Run(t.Context(), []string{"stdio", "--config", path, "--state-dir", t.TempDir()}, in, io.Discard, log)
	}()
	reloads := func(wanted int, change func()) {
		t.Helper()
		for deadline := time.Now().Add(gatetest.Patience); strings.Count(log.String(), "configuration reloaded") < wanted; time.Sleep(4 * settled) {
			if time.Now().After(deadline) {
				t.Fatalf("want %d reloads\n%s", wanted, log.String())
			}
			if log.String() == "" { // the gateway has not read the file yet
				continue
			}
			change() // again, because the file may not have been watched yet
		}
	}
	reloads(1, func() { write(path, reads(second)) })
	reloads(2, func() { write(filepath.Join(second, "token"), "hunter4hunter4") })
	end.Close()
	if code := <-done; code != 0 {
		t.Errorf("exit code %d\n%s", code, log.String())
	}
}

// A reload may wait for a program that the configuration names. Shutdown does not wait for the reload.
func TestShutdownDoesNotWaitForReload(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: needs sh")
	}
	t.Setenv("XDG_RUNTIME_DIR", gatetest.ShortDir(t))
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := t.TempDir()
	path, begun := filepath.Join(dir, "goblin.yaml"), filepath.Join(dir, "begun")
	for name, text := range map[string]string{path: "listen: 127.0.0.1:0\nmcpServers: {}\n", filepath.Join(dir, "slow.sh"): "echo >begun\nexec sleep 9\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g := startPlanted(t, path)
	gatetest.WaitFor(t, "the program of the new configuration", func() (bool, string) {
		text := "listen: 127.0.0.1:0\nmcpServers: {a: {url: 'http://127.0.0.1:1/mcp', startup: lazy, headers: {X-Token: '${command:sh slow.sh}'}}}\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * settled)
		_, err := os.Stat(begun)
		return err == nil, g.log.String()
	})
	started := time.Now()
	g.cancel()
	if code := <-g.done; code != 0 {
		t.Errorf("exit code %d\n%s", code, g.log.String())
	}
	if took := time.Since(started); took > 6*time.Second {
		t.Errorf("shutdown took %v\n%s", took, g.log.String())
	}
}

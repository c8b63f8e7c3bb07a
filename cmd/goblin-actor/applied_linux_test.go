package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"goblin-actor/internal/cli/command"
)

// On a terminal, add shows which server it waits for. Ctrl-C ends the wait without a message, and the edited file stays.
func TestAddInterrupted(t *testing.T) {
	consoleHome(t)
	config := consoleConfig(t)
	gateway := newPTY(t)
	serve := gateway.start(gateway.term, "serve", "--listen", "0", "--config", config)
	gateway.await("✓ notes")

	p := newPTY(t)
	var out bytes.Buffer
	cmd := p.start(&out, "add", "hang", "--config", config, "--", "sleep", "1000")
	p.await("\r\x1b[Khang: handshaking, ") // the time that follows is 1 s, or more on a busy machine
	p.enter("\x03")
	err := cmd.Wait()
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != command.ExitInterrupted {
		t.Errorf("after the interruption: %v", err)
	}
	p.mu.Lock()
	shown := p.shown.String()
	p.mu.Unlock()
	if strings.Contains(shown, "error") || !strings.HasPrefix(out.String(), "added hang to ") || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("the terminal shows %q, stdout is %q", shown, out.String())
	}
	if text, err := os.ReadFile(config); err != nil || !strings.Contains(string(text), "hang:") {
		t.Errorf("%s: %v, %s", filepath.Base(config), err, text)
	}
	if err := serve.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := serve.Wait(); err != nil {
		t.Error(err)
	}
}

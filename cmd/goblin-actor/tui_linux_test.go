package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/gatetest"
)

// consoleConfig writes a configuration with a server that works, and one that fails after printing escape sequences.
func consoleConfig(t *testing.T) string {
	t.Helper()
	self := programPath(t)
	path := filepath.Join(t.TempDir(), "goblin.yaml")
	text := `mcpServers:
  notes: {command: ` + self + `, args: [demo, notes]}
  broken: {command: sh, args: [-c, "printf '\\033[31mno [red]token\\033]0;x\\007\\n' >&2; exit 3"]}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// consoleHome sets directories for sockets and state, and the type of the terminal.
func consoleHome(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "ga")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("XDG_RUNTIME_DIR", dir)
	t.Setenv("XDG_STATE_HOME", dir)
	t.Setenv("TERM", "xterm-256color")
	t.Setenv("LC_ALL", "C.UTF-8")
}

// Without --tui, serve prints short lines on a terminal instead of the log.
func TestServeOnATerminal(t *testing.T) {
	consoleHome(t)
	p := newPTY(t)
	p.size(160, 30)
	cmd := p.start(p.term, "serve", "--listen", "0", "--config", consoleConfig(t))
	p.await("/mcp")
	p.await("✗ broken")
	if got := p.line(); !strings.Contains(got, `\x1b[31mno [red]token`) || strings.Contains(got, "level=") {
		t.Errorf("for the broken server it prints %q", got)
	}
	p.rewind() // the lines may appear in any order
	p.await("✓ notes")
	if got := p.line(); !strings.Contains(got, "ready  4 tools, 1 prompt") || !strings.Contains(got, "1 of 2 ready") {
		t.Errorf("for the working server it prints %q", got)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.await("stopped")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// The console on a real terminal shows which server fails and why, restarts a server, adapts to the terminal's size,
// and quits. S1.49
func TestServeWithConsole(t *testing.T) {
	consoleHome(t)
	p := newPTY(t)
	p.size(100, 30)
	cmd := p.start(p.term, "serve", "--tui", "--listen", "127.0.0.1:0", "--config", consoleConfig(t))
	p.screen(100, 30, "servers[2] worst first", "✗▌ broken", "1/2 ready")
	p.enter(":servers\r")
	p.screen(100, 30, "servers[2]", "notes", "ready", "broken", "waiting")
	p.enter("d")
	p.screen(100, 30, "stderr:", `\x1b[31mno [red]token\x1b]0;x\x07`)
	p.enter("\x1b[B")
	p.screen(100, 30, "state: ready")
	p.enter("\x04")
	p.screen(100, 30, "restart server notes? y/n")
	p.enter("y")
	p.screen(100, 30, "restart notes: requested")
	p.enter(":tools\r/add\r")
	p.screen(100, 30, "</add>", "notes_add_note")
	for _, size := range [][2]int{{20, 5}, {1, 1}, {300, 3}, {3, 200}, {80, 24}} {
		p.size(size[0], size[1])
		cmd.Process.Signal(syscall.SIGWINCH)
	}
	p.enter("0q")
	p.screen(80, 24, "quitting also stops the gateway; quit? y/n")
	p.enter("y")
	if err := cmd.Wait(); err != nil {
		t.Errorf("serve --tui ended with %v", err)
	}
	p.await("\x1b[?1049l") // the terminal's previous screen is restored
}

// The console explains servers with invalid results without internal terms, and shows invalid definitions.
func TestConsoleExplainsOddServers(t *testing.T) {
	g := oddGateway(t, "items", "list-string", "init-number")
	t.Setenv("XDG_RUNTIME_DIR", filepath.Dir(g.config))
	t.Setenv("TERM", "xterm-256color")
	t.Setenv("LC_ALL", "C.UTF-8")
	p := newPTY(t)
	p.size(200, 40)
	cmd := p.start(p.term, "tui", "--connect", g.address)
	p.screen(200, 40, "servers[", "the result is a string; an object was expected", "the result is a number; an object was expected")
	p.enter(":tools\r")
	p.screen(200, 40, "items_array")
	p.enter("d")
	p.screen(200, 40, "inputSchema")
	p.enter(":logs\r")
	p.screen(200, 40, "could not be fetched")
	p.enter(":quit\r")
	if err := cmd.Wait(); err != nil {
		t.Errorf("tui ended with %v", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if word := gatetest.Internals(p.shown.String()); word != "" {
		t.Errorf("the console shows internals: %q", word)
	}
}

// An attached console reports that its gateway no longer responds. It continues when a gateway responds again.
func TestConsoleSurvivesGatewayRestart(t *testing.T) {
	consoleHome(t)
	config := consoleConfig(t)
	gate := newPTY(t)
	listen := "127.0.0.1:0" // the restarted gateway uses the address of the first one
	start := func() (stop func()) {
		address := make(chan string, 1)
		cmd := gate.start(&firstLine{ch: address}, "serve", "--listen", listen, "--config", config)
		select {
		case url := <-address:
			listen = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(url), "http://"), "/mcp")
		case <-time.After(5 * time.Minute):
			t.Fatal("the gateway printed no URL")
		}
		return func() { cmd.Process.Kill(); cmd.Wait() }
	}
	kill := start()
	p := newPTY(t)
	p.size(120, 30)
	cmd := p.start(p.term, "tui", "--view", "servers")
	p.screen(120, 30, "servers[2]", "notes", "ready")
	kill()
	p.screen(120, 30, "no answer for")
	kill = start()
	p.screen(120, 30, "the gateway is responding again")
	kill()
	p.enter("\x03")
	if err := cmd.Wait(); err != nil {
		t.Errorf("tui ended with %v", err)
	}
}

// A server's question during a call from an attached console is answered in the console. A question that the user dismisses
// ends, and leaving the form ends the call with its question.
func TestConsoleAnswersQuestions(t *testing.T) {
	consoleHome(t)
	gate := newPTY(t)
	address := make(chan string, 1)
	served := gate.start(&firstLine{ch: address}, "serve", "--listen", "127.0.0.1:0", "--config", oracleConfig(t))
	at := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(<-address), "http://"), "/mcp")
	p := newPTY(t)
	p.size(120, 40)
	cmd := p.start(p.term, "tui", "--connect", at, "--view", "tools")
	p.screen(120, 40, "oracle_consult", "oracle_visit")
	p.enter("/consult\rr")
	p.screen(120, 40, "call oracle_consult")
	p.enter("\x12")
	p.screen(120, 40, "oracle asks", "The oracle wants to know who asks.", "33%")
	p.enter("Ugg\t3")
	time.Sleep(600 * time.Millisecond) // a new question ignores the keys that answer it
	p.enter("\x12")
	p.screen(120, 40, "Ugg (30), about war: Bring a bigger shovel.", "ok ")
	p.enter("\x12")
	p.screen(120, 40, "oracle asks")
	time.Sleep(600 * time.Millisecond)
	p.enter("\x1b")
	p.screen(120, 40, `the form came back with "cancel"`)
	p.enter("\x12")
	p.screen(120, 40, "oracle asks")
	p.enter("\x04")
	p.screen(120, 40, "canceled; the server may have executed a part of it")
	p.enter("\x03")
	if err := cmd.Wait(); err != nil {
		t.Errorf("tui ended with %v", err)
	}
	served.Process.Kill()
	_ = served.Wait() // it was killed
}

// firstLine collects output and reports the first line.
type firstLine struct {
	ch   chan string
	text string
	told bool
}

func (f *firstLine) Write(b []byte) (int, error) {
	f.text += string(b)
	if line, _, ok := strings.Cut(f.text, "\n"); ok && !f.told {
		f.told = true
		f.ch <- line
	}
	return len(b), nil
}

// The console needs a terminal.
func TestConsoleNeedsATerminal(t *testing.T) {
	p := newPTY(t)
	out := new(strings.Builder)
	cmd := p.start(out, "tui")
	p.await("the console needs a terminal")
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != command.ExitUsage || out.Len() > 0 {
		t.Errorf("exit code %d, printed %q", code, out)
	}
}

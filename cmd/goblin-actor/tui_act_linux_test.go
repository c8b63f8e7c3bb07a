package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/gatetest"
)

// attach opens a console of the gateway at an address.
func attach(t *testing.T, at, view string, flags ...string) (*pty, *exec.Cmd) {
	t.Helper()
	p := newPTY(t)
	p.size(120, 40)
	return p, p.start(p.term, append([]string{"tui", "--connect", at, "--view", view}, flags...)...)
}

// S3.5.3: a server and a tool are disabled and enabled from an attached console, which edits the configuration file. A
// read-only console refuses to.
func TestConsoleDisables(t *testing.T) {
	consoleHome(t)
	path := consoleConfig(t)
	at := serveConsole(t, path)
	file := func() string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	p, cmd := attach(t, at, "tools")
	p.screen(120, 40, "notes_add_note")
	p.enter("/add_note\r")
	p.screen(120, 40, "tools[1]")
	p.enter("\x04")
	p.screen(120, 40, "disable tool add_note of notes? y/n")
	p.enter("y")
	p.screen(120, 40, "disabled tool add_note of notes in goblin.yaml = goblin-actor disable notes/add_note")
	p.screen(120, 40, "–▌ add_note", "clients do not see it")
	if !strings.Contains(file(), "tools: {disabled: [add_note]}") {
		t.Errorf("the file is %s", file())
	}
	p.enter("x")
	p.screen(120, 40, "▌ enable the tool", "= goblin-actor disable notes/add_note", "it is disabled")
	p.enter("\r")
	p.screen(120, 40, "enabled tool add_note of notes in goblin.yaml", "notes_add_note")
	p.enter("1/\x1b/notes\r")
	p.screen(120, 40, "servers[1]", "▌ notes")
	p.enter("xjjj")
	p.screen(120, 40, "▌ disable the server")
	p.enter("\r")
	p.screen(120, 40, "disable server notes?")
	p.enter("y")
	p.screen(120, 40, "disabled server notes in goblin.yaml", "–▌ notes")
	if !strings.Contains(file(), "disabled: true") {
		t.Errorf("the file is %s", file())
	}
	p.enter("xjj")
	p.screen(120, 40, "▌ enable the server", "it is disabled")
	p.enter("\r")
	p.screen(120, 40, "enabled server notes in goblin.yaml", "ready")
	p.leave(cmd)

	reader, cmd := attach(t, at, "tools", "--read-only")
	reader.screen(120, 40, "notes_add_note")
	reader.enter("/add_note\r\x04")
	reader.screen(120, 40, "ctrl-d: this console is read-only")
	reader.leave(cmd)
}

// If two consoles do the same at once, one acts. The other gets an error, and does not act on what has replaced the target.
func TestTwoConsolesAtOnce(t *testing.T) {
	at := consoleGateway(t)
	first, cmd1 := attach(t, at, "servers")
	second, cmd2 := attach(t, at, "servers")
	both := func(keys string, want ...string) {
		t.Helper()
		for _, p := range []*pty{first, second} {
			p.enter(keys)
			p.screen(120, 40, want...)
		}
	}
	both("", "servers[2]", "▌ ", "notes", "ready")
	both("/notes\r", "servers[1]", "▌ notes", "ready")
	both("\x04", "restart server notes? y/n")
	first.enter("y")
	first.screen(120, 40, "restart notes: requested = goblin-actor restart notes")
	second.enter("y")
	second.screen(120, 40, "server notes has restarted since; look at it again")

	both("xjjj", "▌ disable the server")
	both("\r", "disable server notes? y/n")
	first.enter("y")
	first.screen(120, 40, "disabled server notes in goblin.yaml")
	second.enter("y")
	second.screen(120, 40, `server "notes" is already disabled`)

	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"visitor","version":"1"}}}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+at+"/mcp", strings.NewReader(hello))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	id := response.Header.Get("Mcp-Session-Id")
	if len(id) < 8 {
		t.Fatalf("no session: %s", response.Status)
	}
	both("7", "sessions[1]", "▌ "+id[:8], "visitor")
	both("\x04", "end session "+id[:8]+" of visitor 1? y/n")
	first.enter("y")
	first.screen(120, 40, "end "+id[:8]+": requested")
	second.enter("y")
	second.screen(120, 40, `end session "`+id[:8]+`": not found`)
	first.leave(cmd1)
	second.leave(cmd2)
}

// The audit log says how questions were answered, without the values.
func TestAuditLogOfAnswers(t *testing.T) {
	consoleHome(t)
	path := oracleConfig(t)
	log := filepath.Join(t.TempDir(), "audit")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, "audit: {file: "+log+"}\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	at := serveConsole(t, path)
	p, cmd := attach(t, at, "tools")
	p.screen(120, 40, "oracle_consult")
	p.enter("/consult\rr")
	p.screen(120, 40, "call oracle_consult")
	for _, c := range []struct{ keys, want string }{{"\x12", "Zebedee (30)"}, {"\x1b", `the form came back with "cancel"`}} {
		p.enter("\x12")
		p.screen(120, 40, "oracle asks")
		p.enter("Zebedee\t3")
		time.Sleep(600 * time.Millisecond) // a new question ignores the keys that answer it
		p.enter(c.keys)
		p.screen(120, 40, c.want)
	}
	p.leave(cmd)
	var raw []byte
	for _, action := range []string{"accept", "cancel"} {
		want := `"event":"admin","who":"local","via":"local","method":"answer","item":"` + action + `","outcome":"ok"`
		gatetest.WaitFor(t, want+" in the audit log", func() (bool, string) {
			raw, err = os.ReadFile(log)
			return err == nil && strings.Contains(string(raw), want), string(raw)
		})
	}
	if strings.Contains(string(raw), "Zebedee") {
		t.Error("the audit log has a value of the form")
	}
}

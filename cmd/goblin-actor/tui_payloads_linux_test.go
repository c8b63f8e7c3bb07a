package main

import (
	"encoding/base64"
	"os/exec"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/gatetest"
)

// An action in the list of x keeps the payloads of a server's next calls, and another discards them. Meanwhile ● REC is
// on the screen. The page of a call shows its request and its answer, and copies them, without the secrets in them.
func TestConsoleKeepsPayloads(t *testing.T) {
	at := consoleGateway(t)
	p := newPTY(t)
	p.size(120, 60)
	cmd := p.start(p.term, "tui", "--connect", at, "--view", "servers")
	p.screen(120, 60, "─ servers[", "notes")
	p.enter("/notes\r")
	p.screen(120, 60, "▌ notes")
	p.enter("x")
	p.screen(120, 60, "▌ restart the server", "drain and stop the gateway")
	p.enter("\x1b[B")
	p.screen(120, 60, "▌ keep payloads of the next calls", `= POST /actions/payloads {"server": "notes"}`)
	p.enter("\r")
	p.screen(120, 60, "keep payloads of notes (50 calls, 16 KiB each, 10m, in memory, without secrets)? y/n")
	p.enter("y")
	p.screen(120, 60, "● REC notes 0/50", "● live")
	if out, err := exec.Command(cmd.Path, "call", "notes_add_note", "title=Buy milk", "text=password=opensesame42", "--connect", at).CombinedOutput(); err != nil {
		t.Fatalf("call: %v\n%s", err, out)
	}
	p.enter("6")
	p.screen(120, 60, "● REC notes 1/50", "─ calls[1]", "add_note", "ok")
	p.enter("\r")
	p.screen(120, 60, "─ payload[", "kept in memory", `"title": "Buy milk"`, `"text": "password=[redacted]"`, `"slug": "buy-milk"`, "▌ item")
	const line = `goblin-actor call notes_add_note 'text=password=[redacted]' 'title=Buy milk'`
	const request = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"notes_add_note","arguments":{"text":"password=[redacted]","title":"Buy milk"}}}`
	for _, c := range []struct{ key, begins string }{{"l", line}, {"p", request}, {"t", "-- command --\n" + line + "\n-- request.json --\n" + request + "\n-- answer.json --\n{"}} {
		p.enter("c")
		p.screen(120, 60, "l command line  p JSON-RPC")
		p.enter(c.key)
		p.screen(120, 60, "copied ")
		if got := p.copied(); !strings.HasPrefix(got, c.begins) || c.key == "t" && !strings.Contains(got, "buy-milk") {
			t.Errorf("%s copied %q", c.key, got)
		}
	}
	p.enter("x")
	p.screen(120, 60, "▌ restart the server", "drain and stop the gateway")
	p.enter("\x1b[B")
	p.screen(120, 60, "▌ discard payloads, keep no more")
	p.enter("\r")
	p.screen(120, 60, "discard the payloads of 1 call of notes now? y/n")
	p.enter("y")
	p.gone(120, 60, "● REC")
	p.gone(120, 60, "Buy milk")
	p.leave(cmd)
	p.mu.Lock()
	defer p.mu.Unlock()
	if strings.Contains(p.shown.String(), "opensesame42") {
		t.Error("the terminal has received a secret")
	}
}

// gone waits until a text is no longer on the screen.
func (p *pty) gone(w, h int, text string) {
	p.t.Helper()
	limit := time.After(gatetest.Patience)
	for shown := p.screen(w, h); strings.Contains(shown, text); shown = p.screen(w, h) {
		select {
		case <-p.more:
		case <-limit:
			p.t.Fatalf("%q is still on the screen:\n%s", text, shown)
		}
	}
}

// copied waits for the next text that the console copies with OSC 52.
func (p *pty) copied() string {
	p.t.Helper()
	p.await("\x1b]52;c;")
	p.mu.Lock()
	from := p.from
	p.mu.Unlock()
	p.await("\x1b\\")
	p.mu.Lock()
	encoded := p.shown.String()[from : p.from-2]
	p.mu.Unlock()
	text, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || strings.Contains(string(text), "opensesame42") {
		p.t.Errorf("copied %q: %v", text, err)
	}
	return string(text)
}

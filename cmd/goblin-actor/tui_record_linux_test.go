package main

import (
	"os/exec"
	"strings"
	"testing"
)

// r records the actors of a server, and the page of a later call shows the messages about the call. No argument is on the
// screen. A read-only console refuses to record.
func TestConsoleRecords(t *testing.T) {
	at := consoleGateway(t)
	p := newPTY(t)
	p.size(120, 40)
	cmd := p.start(p.term, "tui", "--connect", at, "--view", "servers")
	p.screen(120, 40, "─ servers[", "notes")
	p.enter("/notes\r")
	p.screen(120, 40, "▌ notes")
	p.enter("r")
	p.screen(120, 40, `= POST /actions/record {"server": "notes"}`, "recording, ")
	if out, err := exec.Command(cmd.Path, "call", "notes_search_notes", "query=sworDfish", "--connect", at).CombinedOutput(); err != nil {
		t.Fatalf("call: %v\n%s", err, out)
	}
	p.enter("6")
	p.screen(120, 40, "─ calls[1]", "search_notes", "ok")
	p.enter("\r")
	p.screen(120, 40, "recorders of", "pool/notes", "backend/0.1", "session/", "Dispatch", "Send", "Done", "s left")
	p.enter("8")
	p.screen(120, 40, "RECORDING", "s left")
	p.leave(cmd)
	p.mu.Lock()
	if strings.Contains(p.shown.String(), "sworDfish") {
		t.Error("the screen shows an argument")
	}
	p.mu.Unlock()

	reader := newPTY(t)
	reader.size(120, 40)
	cmd = reader.start(reader.term, "tui", "--connect", at, "--read-only", "--view", "servers")
	reader.screen(120, 40, "─ servers[", "recording, ")
	reader.enter("r")
	reader.screen(120, 40, "r: this console is read-only")
	reader.leave(cmd)
}

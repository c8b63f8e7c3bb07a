package main

import (
	"os"
	"path/filepath"
	"testing"
)

// ctrl-e gives the terminal to $EDITOR, takes its text over, and draws the whole console again.
func TestConsoleEditor(t *testing.T) {
	script := filepath.Join(t.TempDir(), "editor")
	text := "#!/bin/sh\necho the editor has the terminal\nread line\nprintf '{\\n \"text\": \"%s\"\\n}\\n' \"$line\" >\"$2\"\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("VISUAL", "")
	t.Setenv("EDITOR", script+" --wait")
	at := consoleGateway(t)
	p := newPTY(t)
	p.size(120, 40)
	cmd := p.start(p.term, "tui", "--connect", at, "--view", "tools")
	p.screen(120, 40, "─ tools[", "notes_search_notes")
	p.enter("/goblin_call_tool\r")
	p.screen(120, 40, "▌ goblin_call_tool")
	p.enter("r")
	p.screen(120, 40, "object; enter: JSON, ctrl-e: $EDITOR")
	p.enter("\x05")
	p.await("the editor has the terminal")
	p.enter("buy milk\r")
	p.screen(120, 40, "overview › tools", "─ call goblin_call_tool", `{"text":"buy milk"}`, "ctrl-r run")
	p.leave(cmd)
}

package main

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"
)

// consoleGateway starts a gateway with the servers of consoleConfig in a home of its own, and returns its address.
func consoleGateway(t *testing.T) string {
	t.Helper()
	consoleHome(t)
	return serveConsole(t, consoleConfig(t))
}

// serveConsole starts a gateway with a file until the end of the test, and returns its address.
func serveConsole(t *testing.T, config string) string {
	t.Helper()
	gate := newPTY(t)
	address := make(chan string, 1)
	served := gate.start(&firstLine{ch: address}, "serve", "--listen", "127.0.0.1:0", "--config", config)
	t.Cleanup(func() {
		served.Process.Signal(syscall.SIGTERM)
		if err := served.Wait(); err != nil {
			t.Error(err)
		}
	})
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(<-address), "http://"), "/mcp")
}

// leave ends a console with ctrl-c.
func (p *pty) leave(cmd *exec.Cmd) {
	p.t.Helper()
	p.enter("\x03")
	if err := cmd.Wait(); err != nil {
		p.t.Errorf("tui ended with %v", err)
	}
}

// click sends what a terminal sends for a click on a text of the screen (SGR mouse mode of xterm).
func (p *pty) click(screen, text string) {
	p.t.Helper()
	p.enter(p.clickOn(screen, text))
}

// doubleClick sends both clicks at once, so that the console reads them together even if the machine is busy.
func (p *pty) doubleClick(screen, text string) {
	p.t.Helper()
	p.enter(strings.Repeat(p.clickOn(screen, text), 2))
}

// clickOn returns the sequences for pressing and releasing the left button on text.
func (p *pty) clickOn(screen, text string) string {
	p.t.Helper()
	for y, line := range strings.Split(screen, "\n") {
		if before, _, ok := strings.Cut(line, text); ok {
			x := utf8.RuneCountInString(before)
			return fmt.Sprintf("\x1b[<0;%d;%dM\x1b[<0;%[1]d;%[2]dm", x+1, y+1)
		}
	}
	p.t.Fatalf("no %q to click on:\n%s", text, screen)
	return ""
}

// The terminal's mouse selects, opens, sorts and scrolls in an attached console. :mouse leaves it to the terminal again.
func TestConsoleMouse(t *testing.T) {
	at := consoleGateway(t)
	p := newPTY(t)
	p.size(120, 40)
	cmd := p.start(p.term, "tui", "--connect", at, "--view", "tools")
	screen := p.screen(120, 40, "─ tools[", "notes_search_notes")
	p.await("\x1b[?1000h")
	p.click(screen, "notes_edit_note")
	p.screen(120, 40, "▌ notes_edit_note")
	p.enter("\x1b[<64;10;10M") // the wheel, up
	p.screen(120, 40, "▌ goblin_server_status")
	p.click(screen, "TOOL")
	p.screen(120, 40, "TOOL↑")
	p.click(screen, "d describe")
	p.screen(120, 40, "inputSchema")
	p.click(p.screen(120, 40, "overview › tools"), "overview")
	// The name alone may still be that of the page before: the terminal can have received half of a frame.
	screen = p.screen(120, 40, "servers[2] worst first", "●  notes ")
	p.doubleClick(screen, "notes ")
	p.screen(120, 40, "overview › notes")
	p.enter(":mouse\r")
	p.screen(120, 40, "the mouse selects text")
	p.await("\x1b[?1006l")
	p.leave(cmd)

	quiet := newPTY(t)
	quiet.size(120, 40)
	cmd = quiet.start(quiet.term, "tui", "--connect", at, "--no-mouse")
	quiet.screen(120, 40, "servers[2] worst first")
	quiet.leave(cmd)
	quiet.mu.Lock()
	defer quiet.mu.Unlock()
	if strings.Contains(quiet.shown.String(), "\x1b[?1000h") {
		t.Error("with --no-mouse, the console asks for the mouse")
	}
}

// Without UTF-8 in the locale, the console sends nothing but ASCII, whatever the locale's encoding is.
func TestConsoleWithoutUTF8(t *testing.T) {
	at := consoleGateway(t)
	for _, locale := range []string{"C", "ja_JP.eucJP"} {
		t.Setenv("LC_ALL", locale)
		p := newPTY(t)
		p.size(120, 40)
		cmd := p.start(p.term, "tui", "--connect", at)
		p.screen(120, 40, "- servers[2] worst first -", "x| broken", "*  notes")
		p.enter("8")
		p.screen(120, 40, "|- pool/notes")
		p.enter("?")
		p.screen(120, 40, "up down j k")
		p.leave(cmd)
		p.mu.Lock()
		if i := strings.IndexFunc(p.shown.String(), func(r rune) bool { return r > '~' }); i >= 0 {
			t.Errorf("%s: the terminal received %q", locale, p.shown.String()[i:])
		}
		p.mu.Unlock()
	}
}

package main

import (
	"strings"
	"syscall"
	"testing"
)

// Without UTF-8 in the locale, the console sends nothing but ASCII, whatever the locale's encoding is.
func TestConsoleWithoutUTF8(t *testing.T) {
	consoleHome(t)
	gate := newPTY(t)
	address := make(chan string, 1)
	served := gate.start(&firstLine{ch: address}, "serve", "--listen", "127.0.0.1:0", "--config", consoleConfig(t))
	at := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(<-address), "http://"), "/mcp")
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
		p.enter("\x03")
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: tui ended with %v", locale, err)
		}
		p.mu.Lock()
		if i := strings.IndexFunc(p.shown.String(), func(r rune) bool { return r > '~' }); i >= 0 {
			t.Errorf("%s: the terminal received %q", locale, p.shown.String()[i:][:20])
		}
		p.mu.Unlock()
	}
	served.Process.Signal(syscall.SIGTERM)
	if err := served.Wait(); err != nil {
		t.Error(err)
	}
}

package main

import (
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"goblin-actor/internal/gatetest"
)

// size sets the size of the terminal.
func (p *pty) size(w, h int) {
	p.t.Helper()
	if err := unix.IoctlSetWinsize(int(p.main.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(w), Row: uint16(h)}); err != nil {
		p.t.Fatal(err)
	}
}

// screen waits until all output so far, shown on a terminal of the size w × h, contains every text in want. It returns the screen.
func (p *pty) screen(w, h int, want ...string) string {
	p.t.Helper()
	limit := time.After(gatetest.Patience)
	for {
		p.mu.Lock()
		v := gatetest.NewVT(w, h)
		v.Feed(p.shown.String())
		p.mu.Unlock()
		shown, missing := v.String(), ""
		for _, text := range want {
			if !strings.Contains(shown, text) {
				missing = text
			}
		}
		if missing == "" {
			if len(v.Faults) > 0 {
				p.t.Errorf("the terminal received unknown sequences: %q", v.Faults)
			}
			return shown
		}
		select {
		case <-p.more:
		case <-limit:
			p.t.Fatalf("%q is not on the screen:\n%s", missing, shown)
		}
	}
}

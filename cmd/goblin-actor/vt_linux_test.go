package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"goblin-actor/internal/gatetest"
)

// vt emulates a terminal: the subset of ECMA-48 that the console uses. It records unknown sequences as faults.
type vt struct {
	w, h   int
	x, y   int
	cells  [][]rune
	faults []string
}

func newVT(w, h int) *vt {
	v := &vt{w: w, h: h, cells: make([][]rune, h)}
	for y := range v.cells {
		v.cells[y] = []rune(strings.Repeat(" ", w))
	}
	return v
}

// feed processes output. It ignores an incomplete sequence at the end of out.
func (v *vt) feed(out string) {
	for out != "" {
		switch {
		case strings.HasPrefix(out, "\x1b["):
			end := strings.IndexFunc(out[2:], func(r rune) bool { return r >= '@' && r <= '~' })
			if end < 0 {
				return
			}
			v.csi(out[2:2+end], out[2+end])
			out = out[3+end:]
		case strings.HasPrefix(out, "\x1b]"): // a title or similar, up to BEL or ST
			bell, st := strings.IndexByte(out, '\a'), strings.Index(out, "\x1b\\")
			switch {
			case bell >= 0 && (st < 0 || bell < st):
				out = out[bell+1:]
			case st >= 0:
				out = out[st+2:]
			default:
				return
			}
		case strings.HasPrefix(out, "\x1b(") || strings.HasPrefix(out, "\x1b)"):
			out = out[min(3, len(out)):]
		case out[0] == '\x1b':
			out = out[min(2, len(out)):]
		default:
			r, n := utf8.DecodeRuneInString(out)
			out = out[n:]
			v.print(r)
		}
	}
}

func (v *vt) print(r rune) {
	switch {
	case r == '\r':
		v.x = 0
	case r == '\n':
		v.y = min(v.y+1, v.h-1)
	case r == '\b':
		v.x = max(0, v.x-1)
	case r < ' ' && r != 0x0e && r != 0x0f:
		v.faults = append(v.faults, fmt.Sprintf("control character %q", r))
	case r >= ' ' && v.x < v.w && v.y < v.h:
		v.cells[v.y][v.x] = r
		v.x++
	}
}

func (v *vt) csi(args string, final byte) {
	number := func(i, def int) int {
		parts := strings.Split(args, ";")
		if i < len(parts) {
			if n, err := strconv.Atoi(parts[i]); err == nil {
				return n
			}
		}
		return def
	}
	switch final {
	case 'H', 'f':
		v.y, v.x = min(max(0, number(0, 1)-1), v.h-1), min(max(0, number(1, 1)-1), v.w-1)
	case 'J':
		for y := range v.cells {
			v.cells[y] = []rune(strings.Repeat(" ", v.w))
		}
	case 'K':
		for x := v.x; x < v.w; x++ {
			v.cells[v.y][x] = ' '
		}
	case 'C':
		v.x = min(v.x+number(0, 1), v.w-1)
	case 'm', 'h', 'l', 't', 'q', 'n', 'c', 'u', 'r', 'p':
	default:
		v.faults = append(v.faults, fmt.Sprintf("CSI %s %c", args, final))
	}
}

func (v *vt) String() string {
	var b strings.Builder
	for _, line := range v.cells {
		b.WriteString(strings.TrimRight(string(line), " ") + "\n")
	}
	return b.String()
}

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
		v := newVT(w, h)
		v.feed(p.shown.String())
		p.mu.Unlock()
		shown, missing := v.String(), ""
		for _, text := range want {
			if !strings.Contains(shown, text) {
				missing = text
			}
		}
		if missing == "" {
			if len(v.faults) > 0 {
				p.t.Errorf("the terminal received unknown sequences: %q", v.faults)
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

func TestVT(t *testing.T) {
	v := newVT(6, 2)
	v.feed("\x1b[?1049h\x1b[H\x1b[2Jab\x1b[1;31mc\x1b[2;3Hx–y\x1b]0;title\a\x1b(B\x1b[1;5H\x1b[K\x1b[?25")
	if want := "abc\n  x–y\n"; v.String() != want || v.faults != nil {
		t.Errorf("got %q, want %q; faults %q", v.String(), want, v.faults)
	}
}

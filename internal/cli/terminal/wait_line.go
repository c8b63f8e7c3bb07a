package terminal

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// waitingAfter is the time after which servers that are still starting are listed.
const waitingAfter = 2 * time.Second

// WaitLine lists on a terminal the servers that a command waits for, and is erased afterwards. Elsewhere it prints nothing.
type WaitLine struct {
	w     io.Writer // nil = no terminal
	shown string
}

// NewWaitLine returns a WaitLine on w. It shows nothing if w is not a terminal.
func NewWaitLine(w io.Writer) *WaitLine {
	if !PaletteFor(w).on {
		return &WaitLine{}
	}
	return &WaitLine{w: w}
}

// Show updates the line if it has changed.
func (l *WaitLine) Show(names []string, after time.Duration) {
	if l.w == nil || len(names) == 0 || after < waitingAfter {
		return
	}
	line := fmt.Sprintf("… %s (%v)", OneLine(strings.Join(names, ", "), 60), after.Truncate(time.Second))
	if line != l.shown {
		l.Clear()
		l.shown = line
		fmt.Fprint(l.w, line)
	}
}

// Clear erases the line.
func (l *WaitLine) Clear() {
	if l.w != nil && l.shown != "" {
		fmt.Fprint(l.w, "\r\x1b[K")
		l.shown = ""
	}
}

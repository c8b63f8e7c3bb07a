package terminal

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// waitingAfter is how long a command waits before it shows which servers are still starting.
const waitingAfter = 2 * time.Second

// WaitLine shows on a terminal which servers a command waits for. Elsewhere it prints nothing.
type WaitLine struct {
	w     io.Writer // nil = the line is not shown
	shown string
}

// NewWaitLine returns a WaitLine on w. It shows nothing if w is not a terminal, or if PaletteFor returns no colors for
// it.
func NewWaitLine(w io.Writer) *WaitLine {
	if !PaletteFor(w).on {
		return &WaitLine{}
	}
	return &WaitLine{w: w}
}

// Show updates the line if it has changed. It shows nothing until waitingAfter has passed.
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

package terminal

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// waitingAfter is how long nothing is said of servers that still start.
const waitingAfter = 2 * time.Second

// WaitLine is a line on a terminal that names what is waited for, and is gone afterwards; elsewhere it is nothing.
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

// Show writes the line when it says something new.
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

// Clear takes the line away.
func (l *WaitLine) Clear() {
	if l.w != nil && l.shown != "" {
		fmt.Fprint(l.w, "\r\x1b[K")
		l.shown = ""
	}
}

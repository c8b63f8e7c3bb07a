package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// waitingAfter is how long nothing is said of servers that still start.
const waitingAfter = 2 * time.Second

// waiting is a line on a terminal that names what is waited for, and is gone afterwards; elsewhere it is nothing.
type waiting struct {
	w     io.Writer // nil = no terminal
	shown string
}

func newWaiting(w io.Writer) *waiting {
	if !paletteFor(w).on {
		return &waiting{}
	}
	return &waiting{w: w}
}

// show writes the line when it says something new.
func (l *waiting) show(names []string, after time.Duration) {
	if l.w == nil || len(names) == 0 || after < waitingAfter {
		return
	}
	line := fmt.Sprintf("… %s (%v)", oneLine(strings.Join(names, ", "), 60), after.Truncate(time.Second))
	if line != l.shown {
		l.clear()
		l.shown = line
		fmt.Fprint(l.w, line)
	}
}

// clear takes the line away.
func (l *waiting) clear() {
	if l.w != nil && l.shown != "" {
		fmt.Fprint(l.w, "\r\x1b[K")
		l.shown = ""
	}
}

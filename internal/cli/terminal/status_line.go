package terminal

import (
	"fmt"
	"io"
	"time"
)

// StatusLine shows what a command is waiting for. On a terminal it updates one line; elsewhere it prints a line
// whenever the text changes.
type StatusLine struct {
	w    io.Writer
	live bool
	last string
}

// NewStatusLine returns a StatusLine on w.
func NewStatusLine(w io.Writer) *StatusLine { return &StatusLine{w: w, live: IsTerminal(w)} }

// Show shows a text. On a terminal it also shows the time waited and more, which may change with every call.
func (l *StatusLine) Show(text, more string, waited time.Duration) {
	text = OneLine(text, 40)
	if l.live {
		l.last = text
		fmt.Fprintf(l.w, "\r\x1b[K%s, %d s  %s", text, int(waited.Seconds()), OneLine(more, 30))
		return
	}
	if text != l.last {
		l.last = text
		fmt.Fprintln(l.w, text)
	}
}

// Clear removes the line from a terminal.
func (l *StatusLine) Clear() {
	if l.live && l.last != "" {
		fmt.Fprint(l.w, "\r\x1b[K")
	}
}

package terminal

import (
	"fmt"
	"io"
	"time"
)

// StatusLine shows what a command waits for: on a terminal, in one line that is updated; elsewhere, each text once.
type StatusLine struct {
	w    io.Writer
	live bool
	last string
}

// NewStatusLine returns a StatusLine on w.
func NewStatusLine(w io.Writer) *StatusLine { return &StatusLine{w: w, live: IsTerminal(w)} }

// Show shows a text. On terminals it also shows more, which may change at any time.
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

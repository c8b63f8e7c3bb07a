package main

import (
	"fmt"
	"io"
	"strings"

	"goblin-actor/internal/client"
)

// barWidth is how many characters the progress bar has.
const barWidth = 24

// progressBar shows how far a call is: one line that is drawn again and again on a terminal, one line a step in a
// pipe. Not safe for concurrent use.
type progressBar struct {
	w     io.Writer
	live  bool // on a terminal
	drawn bool
}

func newProgressBar(w io.Writer) *progressBar { return &progressBar{w: w, live: isTerminal(w)} }

// show draws one step.
func (b *progressBar) show(p client.Progress) {
	text := fmt.Sprintf("%g", p.Done)
	if p.Total > 0 {
		text = fmt.Sprintf("%g/%g", p.Done, p.Total)
	}
	if p.Message != "" {
		text += " " + oneLine(p.Message, 48)
	}
	if !b.live {
		fmt.Fprintf(b.w, "progress: %s\n", text)
		return
	}
	b.drawn = true
	if p.Total > 0 {
		full := int(min(max(p.Done/p.Total, 0), 1) * barWidth)
		text = "[" + strings.Repeat("#", full) + strings.Repeat(".", barWidth-full) + "] " + text
	}
	fmt.Fprintf(b.w, "\r\x1b[K%s", text)
}

// clear wipes the line, so that what follows starts on a clean one.
func (b *progressBar) clear() {
	if b.drawn {
		fmt.Fprint(b.w, "\r\x1b[K")
		b.drawn = false
	}
}

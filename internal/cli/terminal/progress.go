package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"goblin-actor/internal/client"
)

// barWidth is the width of the progress bar in characters.
const barWidth = 24

// ProgressBar shows the progress of a call. On a terminal it redraws one line; elsewhere it prints a line for each
// step. Its methods may be called from any goroutine.
type ProgressBar struct {
	w    io.Writer
	Live bool // w is a terminal

	mu     sync.Mutex
	drawn  bool
	paused bool             // a question is open, so nothing is drawn
	held   *client.Progress // the last step during the pause
	later  []func()         // output that was delayed by the pause
}

// NewProgressBar returns a ProgressBar on w.
func NewProgressBar(w io.Writer) *ProgressBar { return &ProgressBar{w: w, Live: IsTerminal(w)} }

// Show draws a step.
func (b *ProgressBar) Show(p client.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.paused {
		b.held = &p
		return
	}
	b.draw(p)
}

func (b *ProgressBar) draw(p client.Progress) {
	text := fmt.Sprintf("%g", p.Done)
	if p.Total > 0 {
		text = fmt.Sprintf("%g/%g", p.Done, p.Total)
	}
	if p.Message != "" {
		text += " " + OneLine(p.Message, 48)
	}
	if !b.Live {
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

// Clear erases the line, so that later output starts on an empty line.
func (b *ProgressBar) Clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wipe()
}

func (b *ProgressBar) wipe() {
	if b.drawn {
		fmt.Fprint(b.w, "\r\x1b[K")
		b.drawn = false
	}
}

// Pause erases the line and suspends drawing until Resume.
func (b *ProgressBar) Pause() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wipe()
	b.paused = true
}

// Resume prints the delayed output and draws the last step that Show received during the pause.
func (b *ProgressBar) Resume() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.paused = false
	for _, print := range b.later {
		print()
	}
	b.later = nil
	if b.held != nil {
		b.draw(*b.held)
		b.held = nil
	}
}

// Aside erases the bar and runs write, which must write whole lines to w. During a pause, Aside delays this until Resume.
func (b *ProgressBar) Aside(write func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.paused {
		b.later = append(b.later, write)
		return
	}
	b.wipe()
	write()
}

package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"goblin-actor/internal/client"
)

// barWidth is how many characters the progress bar has.
const barWidth = 24

// ProgressBar shows how far a call is: one line that is drawn again and again on a terminal, one line a step in a
// pipe. Its methods may be called from any goroutine.
type ProgressBar struct {
	w    io.Writer
	Live bool // on a terminal

	mu     sync.Mutex
	drawn  bool
	paused bool             // a person is being asked: nothing is drawn
	held   *client.Progress // the newest step of that time
	later  []func()         // what was to be printed in that time
}

// NewProgressBar returns a ProgressBar that draws on w if that is a terminal.
func NewProgressBar(w io.Writer) *ProgressBar { return &ProgressBar{w: w, Live: IsTerminal(w)} }

// Show draws one step.
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

// Clear wipes the line, so that what follows starts on a clean one.
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

// Pause wipes the line and draws nothing until resume.
func (b *ProgressBar) Pause() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wipe()
	b.paused = true
}

// Resume prints what was to be printed in the pause, and draws its newest step.
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

// Aside runs write, which writes whole lines to w, on a clean line: now, or after the pause.
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

package terminal

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Dialogue asks the user one question at a time at the terminal. Begin waits until no other question is open, and End
// allows the next one. If several goroutines use a Dialogue, each may call the other methods only between Begin and
// End.
type Dialogue struct {
	Out  io.Writer
	turn chan struct{} // capacity 1

	in    *bufio.Reader
	got   chan typedLine // capacity 1
	asked bool           // a goroutine is reading a line; if its question was canceled meanwhile, the next call of Line returns the line
}

type typedLine struct {
	text string
	err  error
}

// ErrNoAnswer is returned by Line at the end of the input (Ctrl-D).
var ErrNoAnswer = errors.New("no answer")

// NewDialogue returns a Dialogue that reads lines from in and prints to out.
func NewDialogue(in io.Reader, out io.Writer) *Dialogue {
	return &Dialogue{Out: out, turn: make(chan struct{}, 1), in: bufio.NewReader(in), got: make(chan typedLine, 1)}
}

// read reads a line and sends it to got. It runs in its own goroutine, because reading from a terminal cannot be
// canceled.
func (d *Dialogue) read() {
	text, err := d.in.ReadString('\n')
	if text != "" {
		err = nil
	}
	d.got <- typedLine{strings.TrimRight(text, "\r\n"), err}
}

// Begin waits until no other question is open. The caller must call End afterwards. If ctx ends first, Begin returns
// context.Cause(ctx), and the caller must not call End.
func (d *Dialogue) Begin(ctx context.Context) error {
	select {
	case d.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// End allows the next question to start.
func (d *Dialogue) End() { <-d.turn }

// Print formats a text and prints it.
func (d *Dialogue) Print(format string, args ...any) { fmt.Fprintf(d.Out, format, args...) }

// Line prints a prompt and returns the line that the user types. It returns ErrNoAnswer at the end of the input. If ctx
// ends first, it returns context.Cause(ctx).
func (d *Dialogue) Line(ctx context.Context, prompt string) (string, error) {
	d.Print("%s", prompt)
	if !d.asked {
		d.asked = true
		go d.read()
	}
	select {
	case l := <-d.got:
		d.asked = false
		if l.err != nil {
			d.Print("\n")
			return "", ErrNoAnswer
		}
		return l.text, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// Choose asks until the user types one of the words. An empty line chooses the first.
func (d *Dialogue) Choose(ctx context.Context, prompt string, words ...string) (string, error) {
	for {
		text, err := d.Line(ctx, prompt)
		if err != nil {
			return "", err
		}
		text = cmp.Or(strings.ToLower(strings.TrimSpace(text)), words[0])
		for _, word := range words {
			if text == word {
				return word, nil
			}
		}
	}
}

package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
)

// dialogue talks with the person at the terminal, about one question at a time: begin waits for its turn, end gives
// it to the next. Only between the two may the other methods be called.
type dialogue struct {
	out  io.Writer
	turn chan struct{} // capacity 1

	in    *bufio.Reader
	got   chan typedLine // capacity 1
	asked bool           // a goroutine reads; true at the beginning of line when the question before was withdrawn
}

type typedLine struct {
	text string
	err  error
}

// errNoAnswer is returned by line at the end of the input (Ctrl-D).
var errNoAnswer = errors.New("no answer")

func newDialogue(in io.Reader, out io.Writer) *dialogue {
	return &dialogue{out: out, turn: make(chan struct{}, 1), in: bufio.NewReader(in), got: make(chan typedLine, 1)}
}

// read reads one line, in a goroutine of its own: a read from a terminal cannot be ended.
func (d *dialogue) read() {
	text, err := d.in.ReadString('\n')
	if text != "" {
		err = nil
	}
	d.got <- typedLine{strings.TrimRight(text, "\r\n"), err}
}

func (d *dialogue) begin(ctx context.Context) error {
	select {
	case d.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (d *dialogue) end() { <-d.turn }

func (d *dialogue) print(format string, args ...any) { fmt.Fprintf(d.out, format, args...) }

// line asks and returns the line typed. Ctrl-D is errNoAnswer.
func (d *dialogue) line(ctx context.Context, prompt string) (string, error) {
	d.print("%s", prompt)
	if !d.asked {
		d.asked = true
		go d.read()
	}
	select {
	case l := <-d.got:
		d.asked = false
		if l.err != nil {
			d.print("\n")
			return "", errNoAnswer
		}
		return l.text, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// heading says who asks what. The server's words are indented, so that they cannot pass for ours.
func (d *dialogue) heading(who, message string) {
	d.print("%s asks:\n%s", paletteFor(d.out).head(oneLine(who, 80)), indented(message))
}

// indented is a foreign text as lines that begin with two blanks. Long lines are broken: a terminal would begin the next one
// where our own words stand.
func indented(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(clean(text), "\n"), "\n") {
		for _, piece := range folded(line) {
			b.WriteString("  " + piece + "\n")
		}
	}
	return b.String()
}

// Columns of a line of foreign text: one that is longer than the first is cut into pieces of the second, which leaves room
// for being indented twice.
const (
	maxColumns   = 76
	pieceColumns = 70
)

// folded cuts a line into pieces.
func folded(line string) []string {
	if columns(line) <= maxColumns {
		return []string{line}
	}
	return broken(line, pieceColumns, pieceColumns)
}

func columns(s string) (n int) {
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

// runeColumns is how wide a terminal draws r, at most.
func runeColumns(r rune) int {
	if r < 0x1100 { // where scripts of double width begin
		return 1
	}
	return 2
}

// fillIn asks for the fields that have no value yet, shows all, and asks whether to send them.
func (d *dialogue) fillIn(ctx context.Context, f form, given map[string]json.RawMessage) (json.RawMessage, error) {
	if len(f) > len(given) {
		d.print("(Ctrl-D gives no answer)\n")
	}
	for {
		values := map[string]json.RawMessage{}
		for i := range f {
			one := &f[i]
			value, ok := given[one.name]
			if !ok {
				var err error
				if value, ok, err = d.field(ctx, one); err != nil {
					return dismissed, nil
				}
			}
			if ok {
				values[one.name] = value
			}
		}
		for _, one := range f {
			if value, ok := values[one.name]; ok {
				d.print("%s", indented(one.label()+": "+oneLine(string(value), 200)))
			}
		}
		text, err := d.choose(ctx, "Send this? [Y]es, [n]o, [a]gain: ", "y", "yes", "n", "no", "a", "again")
		if err != nil {
			return dismissed, nil
		}
		switch text[0] {
		case 'y':
			return accept(f, values), nil
		case 'n':
			return declined, nil
		}
		given = nil
	}
}

// field asks for one value until it is a good one; ok is false when an optional one was left out.
func (d *dialogue) field(ctx context.Context, one *formField) (value json.RawMessage, ok bool, err error) {
	prompt := one.label()
	if about := one.describe(); about != "" {
		prompt += " (" + about + ")"
	}
	for {
		text, err := d.line(ctx, strings.TrimSuffix(indented(prompt+":"), "\n")+" ")
		if err != nil {
			return nil, false, err
		}
		if strings.TrimSpace(text) == "" {
			if value, ok := one.byDefault(); ok {
				return value, true, nil
			}
			if !one.required {
				return nil, false, nil
			}
			d.print("it is needed\n")
			continue
		}
		value, err := one.read(text)
		if err == nil {
			return value, true, nil
		}
		d.print("%s\n", clean(err.Error()))
	}
}

// choose asks until one of the words is typed; the first is meant by an empty line.
func (d *dialogue) choose(ctx context.Context, prompt string, words ...string) (string, error) {
	for {
		text, err := d.line(ctx, prompt)
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

// visit shows a page's address and asks whether the person goes there. It opens nothing.
func (d *dialogue) visit(ctx context.Context, u *url.URL) (json.RawMessage, error) {
	p := paletteFor(d.out)
	d.print("%s\n", clean(u.String()))
	d.print("It wants you to open this page of %s yourself, in a browser. Nothing is opened from here.\n", p.warn(oneLine(u.Hostname(), 200)))
	if strings.ContainsFunc(u.Hostname(), func(r rune) bool { return r > 0x7f }) || strings.Contains(u.Hostname(), "xn--") {
		d.print("%s the name is not plain ASCII; it may look like another one.\n", p.bad("careful:"))
	}
	text, err := d.choose(ctx, "Will you, or have you? [N]o, [y]es: ", "n", "no", "y", "yes")
	switch {
	case err != nil:
		return dismissed, nil
	case text[0] == 'y':
		return accepted, nil
	}
	return declined, nil
}

// sample shows what the model is asked and reads what to answer for it.
func (d *dialogue) sample(ctx context.Context, who string, ask sampling) (json.RawMessage, error) {
	d.print("%s asks your model; you answer for it:\n", paletteFor(d.out).head(oneLine(who, 80)))
	d.print("%s", ask.String())
	d.print("(an empty line ends the answer; nothing at all refuses)\n")
	var lines []string
	for {
		text, err := d.line(ctx, "> ")
		if err != nil && len(lines) == 0 {
			return nil, errRejected
		}
		if err == nil && text != "" {
			lines = append(lines, text)
			continue
		}
		if len(lines) == 0 {
			return nil, errRejected
		}
		return spoken(strings.Join(lines, "\n")), nil
	}
}

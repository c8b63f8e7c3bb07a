package tui

import (
	"strings"

	"github.com/gdamore/tcell/v2"
)

// styled is a text with a style of the palette. The text is safe to display.
type styled struct {
	text  string
	style func(p *Palette) tcell.Style
}

// line is one line of the screen: styled texts, drawn one after the other.
type line []styled

// add appends a text in the color of a Health.
func (l *line) add(h Health, text string) {
	*l = append(*l, styled{plainSpaces(text), func(p *Palette) tcell.Style { return p.Health[h] }})
}

// title appends a text in the style of titles.
func (l *line) title(text string) {
	*l = append(*l, styled{plainSpaces(text), func(p *Palette) tcell.Style { return p.Title }})
}

// hint appends a text in the style of labels.
func (l *line) hint(text string) {
	*l = append(*l, styled{plainSpaces(text), func(p *Palette) tcell.Style { return p.Hint }})
}

// draw draws the line in at most room columns and returns how many it used.
func (l line) draw(screen tcell.Screen, x, y, room int, p *Palette) int {
	took := 0
	for _, s := range l {
		if took >= room {
			break
		}
		style := s.style(p)
		took += put(screen, x+took, y, room-took, s.text, style, nil, style)
	}
	return took
}

// String returns the texts of the line.
func (l line) String() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.text)
	}
	return b.String()
}

// width returns the number of columns of the line.
func (l line) width() (n int) {
	for _, s := range l {
		n += width(s.text)
	}
	return n
}

// plainSpaces is like plain, but keeps the spaces at the start and the end of the text.
func plainSpaces(s string) string {
	trimmed := strings.TrimLeft(s, " ")
	head := s[:len(s)-len(trimmed)]
	inner := strings.TrimRight(trimmed, " ")
	return head + plain(inner) + trimmed[len(inner):]
}

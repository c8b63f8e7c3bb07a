package tui

import (
	"unicode/utf8"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/uniseg"
)

// frame is a screen that passes on only what differs from the frame before. tview clears the screen before each frame, after
// which tcell would send every character again.
type frame struct {
	tcell.Screen
	w, h  int
	next  []glyph // of the frame that is being drawn
	shown []glyph // of the last frame; a zero glyph is unknown
	err   error   // of Init
}

// glyph is the content of a cell.
type glyph struct {
	text  string
	style tcell.Style
}

// Init implements tcell.Screen. tview ignores the error, so it is kept.
func (f *frame) Init() error {
	f.err = f.Screen.Init()
	return f.err
}

// Resume implements tcell.Screen. tcell has forgotten all cells, so the next frame is sent as a whole.
func (f *frame) Resume() error {
	clear(f.shown)
	return f.Screen.Resume()
}

// EnableMouse implements tcell.Screen. The terminal reports buttons and the wheel, but not where the mouse moves.
func (f *frame) EnableMouse(...tcell.MouseFlags) { f.Screen.EnableMouse(tcell.MouseButtonEvents) }

// Clear implements tcell.Screen. A frame begins with it.
func (f *frame) Clear() { f.Fill(' ', tcell.StyleDefault) }

// Fill implements tcell.Screen.
func (f *frame) Fill(r rune, style tcell.Style) {
	if w, h := f.Screen.Size(); w != f.w || h != f.h {
		f.w, f.h = w, h
		f.next, f.shown = make([]glyph, w*h), make([]glyph, w*h)
	}
	blank := glyph{string(r), style}
	for i := range f.next {
		f.next[i] = blank
	}
}

// Put implements tcell.Screen.
func (f *frame) Put(x, y int, text string, style tcell.Style) (rest string, width int) {
	if len(text) == 1 && text[0] < 0x80 {
		width = 1
	} else {
		whole, state, at := text, -1, 0
		for width == 0 && text != "" {
			var cluster string
			cluster, text, width, state = uniseg.FirstGraphemeClusterInString(text, state)
			at += len(cluster)
		}
		text, rest = whole[:at], text
	}
	if len(text) > maxCluster && utf8.RuneCountInString(text) > maxCluster { // a terminal may not show it, and tcell sends "?"
		text = string([]rune(text)[:maxCluster])
	}
	if x >= 0 && y >= 0 && x < f.w && y < f.h && text != "" {
		f.next[y*f.w+x] = glyph{text, style}
	}
	return rest, width
}

// PutStrStyled implements tcell.Screen.
func (f *frame) PutStrStyled(x, y int, text string, style tcell.Style) {
	for text != "" && x < f.w {
		var width int
		text, width = f.Put(x, y, text, style)
		x += width
	}
}

// PutStr implements tcell.Screen.
func (f *frame) PutStr(x, y int, text string) { f.PutStrStyled(x, y, text, tcell.StyleDefault) }

// SetContent implements tcell.Screen.
func (f *frame) SetContent(x, y int, primary rune, combining []rune, style tcell.Style) {
	f.Put(x, y, string(append([]rune{primary}, combining...)), style)
}

// SetCell implements tcell.Screen.
func (f *frame) SetCell(x, y int, style tcell.Style, runes ...rune) {
	f.Put(x, y, string(runes), style)
}

// Get implements tcell.Screen.
func (f *frame) Get(x, y int) (string, tcell.Style, int) {
	if x < 0 || y < 0 || x >= f.w || y >= f.h {
		return " ", tcell.StyleDefault, 1
	}
	g := f.next[y*f.w+x]
	return g.text, g.style, max(1, uniseg.StringWidth(g.text))
}

// GetContent implements tcell.Screen.
func (f *frame) GetContent(x, y int) (rune, []rune, tcell.Style, int) {
	text, style, width := f.Get(x, y)
	runes := []rune(text)
	return runes[0], runes[1:], style, width
}

// Show implements tcell.Screen.
func (f *frame) Show() {
	for i, g := range f.next {
		if g != f.shown[i] {
			f.Screen.Put(i%f.w, i/f.w, g.text, g.style)
		}
		f.shown[i] = g
	}
	f.Screen.Show()
}

package tui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gdamore/tcell/v2"
)

// Health is how something is; it chooses the colour.
type Health uint8

// The states that a palette has a style for.
const (
	Plain Health = iota // nothing to be said
	Good
	Warn  // it copes
	Bad   // a person should look
	Quiet // not in use
	healths
)

// Palette is all the colours there are, by what they say.
type Palette struct {
	Health   [healths]tcell.Style
	Head     tcell.Style // names of columns, labels
	Title    tcell.Style
	Frame    tcell.Style // rules
	Selected tcell.Style // laid over a row: its background
	Match    tcell.Style // what the filter found
	Key      tcell.Style // a key in the hint bar
	Hint     tcell.Style // what it does
}

// Paint is one style of a skin: the whole of it, what is not set is not on.
type Paint struct {
	Foreground string // one of Colors or "#rrggbb"; "" = the terminal's own
	Background string // likewise; "" = that of "plain"
	Bold       bool
	Dim        bool
	Italic     bool
	Underline  bool
	Reverse    bool
}

// palettes by name. The colours are the terminal's own sixteen, so that they fit its background; with NO_COLOR
// (https://no-color.org) "mono" is used: bold, dim, underlined and reversed only.
var palettes = map[string]Palette{
	"colour": {
		Health: [healths]tcell.Style{
			Plain: style(tcell.ColorDefault), Good: style(tcell.ColorGreen), Warn: style(tcell.ColorYellow),
			Bad: style(tcell.ColorRed).Bold(true), Quiet: style(tcell.ColorGray),
		},
		Head: style(tcell.ColorDefault).Bold(true), Title: style(tcell.ColorAqua).Bold(true), Frame: style(tcell.ColorGray),
		Selected: style(tcell.ColorBlack).Background(tcell.ColorSilver), Match: style(tcell.ColorBlack).Background(tcell.ColorYellow),
		Key: style(tcell.ColorAqua).Bold(true), Hint: style(tcell.ColorGray),
	},
	"mono": {
		Health: [healths]tcell.Style{Bad: tcell.StyleDefault.Bold(true), Quiet: tcell.StyleDefault.Dim(true)},
		Head:   tcell.StyleDefault.Bold(true), Title: tcell.StyleDefault.Bold(true),
		Selected: tcell.StyleDefault.Reverse(true), Match: tcell.StyleDefault.Underline(true).Bold(true),
		Key: tcell.StyleDefault.Bold(true),
	},
}

// parts are what a skin can paint.
var parts = map[string]func(*Palette) *tcell.Style{
	"plain":    func(p *Palette) *tcell.Style { return &p.Health[Plain] },
	"good":     func(p *Palette) *tcell.Style { return &p.Health[Good] },
	"warn":     func(p *Palette) *tcell.Style { return &p.Health[Warn] },
	"bad":      func(p *Palette) *tcell.Style { return &p.Health[Bad] },
	"quiet":    func(p *Palette) *tcell.Style { return &p.Health[Quiet] },
	"head":     func(p *Palette) *tcell.Style { return &p.Head },
	"title":    func(p *Palette) *tcell.Style { return &p.Title },
	"frame":    func(p *Palette) *tcell.Style { return &p.Frame },
	"selected": func(p *Palette) *tcell.Style { return &p.Selected },
	"match":    func(p *Palette) *tcell.Style { return &p.Match },
	"key":      func(p *Palette) *tcell.Style { return &p.Key },
	"hint":     func(p *Palette) *tcell.Style { return &p.Hint },
}

// Palettes returns the names of the palettes that are built in.
func Palettes() []string { return slices.Sorted(maps.Keys(palettes)) }

// Parts returns the names of what a skin can paint.
func Parts() []string { return slices.Sorted(maps.Keys(parts)) }

// Colors returns the names of colours, "default" among them: the terminal's own.
func Colors() []string {
	return append(slices.Sorted(maps.Keys(tcell.ColorNames)), "default")
}

// paletteOf returns the palette called name with a skin laid over it. "plain" is the ground: what has no background
// of its own, painted or not, has that of plain.
func paletteOf(name string, skin map[string]Paint) Palette {
	p := palettes[name]
	for part, paint := range skin {
		if at := parts[part]; at != nil {
			*at(&p) = paint.style()
		}
	}
	_, ground, _ := p.Health[Plain].Decompose()
	for _, at := range parts {
		if _, bg, _ := at(&p).Decompose(); bg == tcell.ColorDefault {
			*at(&p) = at(&p).Background(ground)
		}
	}
	return p
}

func (p Paint) style() tcell.Style {
	return tcell.StyleDefault.Foreground(colorOf(p.Foreground)).Background(colorOf(p.Background)).
		Bold(p.Bold).Dim(p.Dim).Italic(p.Italic).Underline(p.Underline).Reverse(p.Reverse)
}

// colorOf returns the colour of a name; tcell knows "#rrggbb" too, and takes what it does not know for the default.
func colorOf(name string) tcell.Color { return tcell.GetColor(cmp.Or(name, "default")) }

// CheckSkin returns what cannot be used of a skin whose colours are known: a selection that nobody can see.
func CheckSkin(skin map[string]Paint) error {
	p := paletteOf("colour", skin)
	for _, part := range []string{"selected", "match"} {
		if *parts[part](&p) == p.Health[Plain] {
			return fmt.Errorf("%s: looks like plain: nobody could tell it from the rest", part)
		}
	}
	return nil
}

func style(c tcell.Color) tcell.Style { return tcell.StyleDefault.Foreground(c) }

package tui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gdamore/tcell/v2"
)

// Health is the state of a row or value. It determines the color.
type Health uint8

// A palette has a style for each of these values.
const (
	Plain   Health = iota // no state
	Good                  // works
	Warn                  // degraded, but working
	Bad                   // needs attention
	Quiet                 // not in use
	healths               // number of values
)

// Palette holds all styles of the console, by meaning.
type Palette struct {
	Health   [healths]tcell.Style
	Head     tcell.Style // column headers and labels
	Title    tcell.Style // titles of views
	Frame    tcell.Style // horizontal lines
	Selected tcell.Style // the selected row
	Match    tcell.Style // text that matches the filter
	Key      tcell.Style // a key in the hint bar
	Hint     tcell.Style // the label of a key
}

// Paint is one style of a skin. It replaces the palette's style completely; unset attributes are off.
type Paint struct {
	Foreground string // one of Colors or "#rrggbb"; "" = the terminal's default
	Background string // one of Colors or "#rrggbb"; "" = the background of "plain"
	Bold       bool
	Dim        bool
	Italic     bool
	Underline  bool
	Reverse    bool
}

// almostBlack is the background of palettes that have one. It is not black, and their texts are not white, because terminals with
// 256 colors would show the black and white of the user's own sixteen colors.
var almostBlack = tcell.NewHexColor(0x080808)

// palettes holds the built-in palettes by name. "colour" uses the terminal's own sixteen colors, which suit the
// terminal's background. "contrast" has a contrast of at least 7:1, as WCAG 2.2 requires for level AAA (1.4.6). "blind" has
// colors of Okabe and Ito that stay distinct with the common kinds of color blindness. "mono" uses only bold, dim,
// underline and reverse. It is used with NO_COLOR (https://no-color.org).
var palettes = map[string]Palette{
	"colour": {
		Health: [healths]tcell.Style{
			Plain: style(tcell.ColorDefault), Good: style(tcell.ColorGreen), Warn: style(tcell.ColorYellow),
			Bad: style(tcell.ColorRed).Bold(true), Quiet: style(tcell.ColorGray),
		},
		Head: style(tcell.ColorDefault).Bold(true), Title: style(tcell.ColorAqua).Bold(true), Frame: style(tcell.ColorGray),
		Selected: style(tcell.ColorWhite).Background(tcell.Color236), Match: style(tcell.ColorBlack).Background(tcell.ColorYellow),
		Key: style(tcell.ColorAqua).Bold(true), Hint: style(tcell.ColorGray),
	},
	"contrast": ground(almostBlack, Palette{
		Health: [healths]tcell.Style{
			Plain: rgb(0xeeeeee), Good: rgb(0x87ff87), Warn: rgb(0xffff5f), Bad: rgb(0xffafaf).Bold(true), Quiet: rgb(0xc6c6c6),
		},
		Head: rgb(0xeeeeee).Bold(true), Title: rgb(0x87ffff).Bold(true), Frame: rgb(0xc6c6c6),
		Selected: rgb(0xeeeeee).Background(tcell.NewHexColor(0x303030)).Bold(true), Match: style(almostBlack).Background(tcell.NewHexColor(0xffff5f)),
		Key: rgb(0x87ffff).Bold(true), Hint: rgb(0xc6c6c6),
	}),
	"blind": ground(almostBlack, Palette{
		Health: [healths]tcell.Style{
			Plain: rgb(0xeeeeee), Good: rgb(0x56b4e9), Warn: rgb(0xf0e442), Bad: rgb(0xd55e00).Bold(true), Quiet: rgb(0x9e9e9e),
		},
		Head: rgb(0xeeeeee).Bold(true), Title: rgb(0xcc79a7).Bold(true), Frame: rgb(0x9e9e9e),
		Selected: rgb(0xeeeeee).Background(tcell.NewHexColor(0x00005f)), Match: style(almostBlack).Background(tcell.NewHexColor(0xe69f00)),
		Key: rgb(0xcc79a7).Bold(true), Hint: rgb(0x9e9e9e),
	}),
	"mono": {
		Health: [healths]tcell.Style{Bad: tcell.StyleDefault.Bold(true), Quiet: tcell.StyleDefault.Dim(true)},
		Head:   tcell.StyleDefault.Bold(true), Title: tcell.StyleDefault.Bold(true),
		Selected: tcell.StyleDefault.Reverse(true), Match: tcell.StyleDefault.Underline(true).Bold(true),
		Key: tcell.StyleDefault.Bold(true),
	},
}

// parts maps the names in a skin to the styles of a palette.
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

// Palettes returns the names of the built-in palettes, sorted.
func Palettes() []string { return slices.Sorted(maps.Keys(palettes)) }

// Parts returns the names of the parts that a skin can style, sorted.
func Parts() []string { return slices.Sorted(maps.Keys(parts)) }

// Colors returns the color names that a skin can use. "default" is the terminal's own color.
func Colors() []string {
	return append(slices.Sorted(maps.Keys(tcell.ColorNames)), "default")
}

// paletteOf returns the named palette with a skin applied. Styles without a background get that of "plain".
func paletteOf(name string, skin map[string]Paint) Palette {
	p := palettes[name]
	for part, paint := range skin {
		if at := parts[part]; at != nil {
			*at(&p) = paint.style()
		}
	}
	_, bg, _ := p.Health[Plain].Decompose()
	return ground(bg, p)
}

func (p Paint) style() tcell.Style {
	return tcell.StyleDefault.Foreground(colorOf(p.Foreground)).Background(colorOf(p.Background)).
		Bold(p.Bold).Dim(p.Dim).Italic(p.Italic).Underline(p.Underline).Reverse(p.Reverse)
}

// colorOf returns the color for a name or "#rrggbb". tcell maps unknown names to the default color.
func colorOf(name string) tcell.Color { return tcell.GetColor(cmp.Or(name, "default")) }

// CheckSkin returns an error if a skin makes the selection or matches look like plain text. It expects valid color names.
func CheckSkin(skin map[string]Paint) error {
	p := paletteOf("colour", skin)
	for _, part := range []string{"selected", "match"} {
		if *parts[part](&p) == p.Health[Plain] {
			return fmt.Errorf("%s: same style as plain text, so it would be invisible; set another color or reverse", part)
		}
	}
	return nil
}

// ground returns the palette with a background for all styles that have none.
func ground(c tcell.Color, p Palette) Palette {
	for _, at := range parts {
		if _, bg, _ := at(&p).Decompose(); bg == tcell.ColorDefault {
			*at(&p) = at(&p).Background(c)
		}
	}
	return p
}

func rgb(hex int32) tcell.Style { return style(tcell.NewHexColor(hex)) }

func style(c tcell.Color) tcell.Style { return tcell.StyleDefault.Foreground(c) }

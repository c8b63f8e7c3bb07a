package tui

import (
	"math"

	"github.com/gdamore/tcell/v2"
)

// minContrast is the smallest contrast between a text and the ground of the selected row. It is the bound of WCAG 2.2 for
// large text (1.4.3).
const minContrast = 3

// bright maps the dark half of a terminal's sixteen colors to the bright counterparts.
var bright = map[tcell.Color]tcell.Color{
	tcell.ColorMaroon: tcell.ColorRed, tcell.ColorGreen: tcell.ColorLime, tcell.ColorOlive: tcell.ColorYellow, tcell.ColorNavy: tcell.ColorBlue,
	tcell.ColorPurple: tcell.ColorFuchsia, tcell.ColorTeal: tcell.ColorAqua, tcell.ColorGray: tcell.ColorSilver,
}

// selected returns the style of a Health in the selected row: its own color on the ground of the selection. A color that is
// hard to read there is replaced by a brighter one or, like the terminal's default color, by that of the selection.
func (p *Palette) selected(h Health) tcell.Style {
	ink, ground, attributes := p.Selected.Decompose()
	own, _, more := p.Health[h].Decompose()
	if ground == tcell.ColorDefault { // the selection is marked by attributes only
		return p.Selected.Attributes(attributes | more&^tcell.AttrDim)
	}
	if brighter, ok := bright[own]; ok && contrast(own, ground) < minContrast {
		own = brighter
	}
	if own == tcell.ColorDefault || contrast(own, ground) < minContrast {
		own = ink
	}
	return p.Selected.Foreground(own).Attributes(attributes | more)
}

// grey returns the palette for a Picture that is no longer current: every Health has the style of Quiet.
func (p *Palette) grey() *Palette {
	q := *p
	for h := range q.Health {
		if Health(h) != Plain {
			q.Health[h] = p.Health[Quiet]
		}
	}
	q.Health[Plain] = p.Health[Quiet]
	return &q
}

// contrast returns the contrast ratio of two colors, from 1 to 21 (WCAG 2.2). It returns 21 if a color is unknown.
func contrast(a, b tcell.Color) float64 {
	if a.Hex() < 0 || b.Hex() < 0 {
		return 21
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + .05) / (min(x, y) + .05)
}

func luminance(c tcell.Color) float64 {
	r, g, b := c.RGB()
	part := func(v int32) float64 {
		f := float64(v) / 255
		if f <= .04045 {
			return f / 12.92
		}
		return math.Pow((f+.055)/1.055, 2.4)
	}
	return .2126*part(r) + .7152*part(g) + .0722*part(b)
}

package tui

import (
	"cmp"
	"os"
	"strings"
)

// look is how the console looks.
type look struct {
	palette Palette
	noColor bool // NO_COLOR is set
	ascii   bool // glyphs are drawn in ASCII
	calm    bool // no arrows, and one Picture a second
}

// newLook returns the look that the options and NO_COLOR select.
func newLook(o Options) look {
	l := look{palette: paletteOf(cmp.Or(o.Palette, "colour"), o.Skin), noColor: os.Getenv("NO_COLOR") != "", ascii: o.ASCII, calm: o.Calm}
	if l.noColor {
		l.palette = palettes["mono"]
	}
	return l
}

// choosePalette is the command :palette. It replaces the palette and any skin.
func (a *App) choosePalette(words []string) {
	if len(words) == 0 {
		a.notify("use one of: palette "+strings.Join(Palettes(), ", palette "), Plain)
		return
	}
	name, ok := oneOf(words[0], Palettes())
	switch {
	case !ok:
		a.notify("unknown palette "+words[0]+"; use one of: "+strings.Join(Palettes(), " "), Bad)
	case a.noColor:
		a.notify("NO_COLOR is set, so the palette stays mono", Warn)
	default:
		a.palette = paletteOf(name, nil)
		a.newInput()
		a.notify("palette "+name, Plain)
	}
}

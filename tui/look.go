package tui

import (
	"cmp"
	"os"
	"strings"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"
)

// skinPause is the time between two looks at the skin's file.
const skinPause = time.Second

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
		a.notify("palette "+name, Plain)
	}
}

// followSkin applies the skin each time that reread returns a new one, until the console ends.
func (a *App) followSkin(reread func() (map[string]Paint, error)) {
	tick := time.NewTicker(skinPause)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-a.ctx.Done():
			return
		}
		if skin, err := reread(); skin != nil || err != nil {
			a.afterwards(func() { a.reskin(skin, err) })
		}
	}
}

// reskin applies a skin that was saved. If it is invalid, the palette stays.
func (a *App) reskin(skin map[string]Paint, err error) {
	if err != nil {
		a.notify("skin not changed: "+err.Error(), Bad)
		return
	}
	a.palette = paletteOf("colour", skin)
	a.notify("skin reloaded", Plain)
}

// drawInput draws an input field of one line.
func drawInput(screen tcell.Screen, input *tview.InputField, style tcell.Style, r rect) {
	_, ground, _ := style.Decompose()
	input.SetFieldStyle(style).SetBackgroundColor(ground).SetRect(r.x, r.y, r.w, r.h)
	input.Draw(screen)
}

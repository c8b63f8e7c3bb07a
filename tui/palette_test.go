package tui

import (
	"math"
	"testing"

	"github.com/gdamore/tcell/v2"
)

// styles returns all styles that a palette draws with, by name.
func (p *Palette) styles() map[string]tcell.Style {
	all := map[string]tcell.Style{}
	for name, at := range parts {
		all[name] = *at(p)
		for h, health := range []string{"plain", "good", "warn", "bad", "quiet"} {
			all["selected "+health] = p.selected(Health(h))
		}
	}
	return all
}

// reduced returns a color as a terminal with fewer colors shows it.
func reduced(c tcell.Color, colors int) tcell.Color {
	if colors == 1<<24 {
		return c
	}
	all := make([]tcell.Color, colors)
	for i := range all {
		all[i] = tcell.PaletteColor(i)
	}
	return tcell.FindColor(c, all)
}

// Every text of the palette "contrast" has a contrast of at least 7:1 with its background, also in the selected row and while the
// gateway does not respond, on terminals with all colors and with 256. The colors of "blind" have at least 4.5:1.
func TestContrast(t *testing.T) {
	for name, least := range map[string]float64{"contrast": 7, "blind": 4.5} {
		p := paletteOf(name, nil)
		for _, state := range []*Palette{&p, p.grey()} {
			for _, colors := range []int{1 << 24, 256} {
				for part, style := range state.styles() {
					fg, bg, attributes := style.Decompose()
					if fg == tcell.ColorDefault || bg == tcell.ColorDefault || attributes&(tcell.AttrDim|tcell.AttrReverse) != 0 {
						t.Errorf("%s: %s leaves its contrast to the terminal", name, part)
						continue
					}
					if fg, bg = reduced(fg, colors), reduced(bg, colors); colors == 256 && (fg < tcell.PaletteColor(16) || bg < tcell.PaletteColor(16)) {
						t.Errorf("%s: the user chooses a color of %s, %v on %v", name, part, fg, bg)
					}
					if got := contrast(fg, bg); got < least {
						t.Errorf("%s: %s has a contrast of %.1f:1 with %d colors, want %.1f:1", name, part, got, colors, least)
					}
				}
			}
		}
	}
}

// The contrast ratios of WCAG 2.2.
func TestContrastRatio(t *testing.T) {
	for _, c := range []struct {
		a, b int32
		want float64
	}{{0xffffff, 0x000000, 21}, {0x777777, 0xffffff, 4.48}, {0x767676, 0xffffff, 4.54}, {0xff0000, 0xffffff, 4.0}, {0x595959, 0xffffff, 7.0}} {
		if got := contrast(tcell.NewHexColor(c.a), tcell.NewHexColor(c.b)); math.Abs(got-c.want) > .01 {
			t.Errorf("contrast of %06x and %06x: %.3f, want %.2f", c.a, c.b, got, c.want)
		}
	}
}

// In the cells of each view, the palette "contrast" uses no other styles than those that TestContrast checks.
func TestContrastOfScreens(t *testing.T) {
	for _, k := range allKinds() {
		s := newTestConsole(t, 120, 40, Options{Palette: "contrast"})
		s.press(":" + k.Name + "<enter>")
		for _, keys := range []string{"", "d", "x", "<esc>?", "<esc>:x", "<esc>c"} {
			s.press(keys)
			s.draw()
			w, h := s.screen.Size()
			for y := range h {
				for x := range w {
					text, style, _ := s.screen.Get(x, y)
					fg, bg, attributes := style.Decompose()
					if text == " " || text == "" {
						fg = tcell.ColorWhite
					}
					if got := contrast(fg, bg); fg == tcell.ColorDefault || bg == tcell.ColorDefault || attributes&(tcell.AttrDim|tcell.AttrReverse) != 0 || got < 7 {
						t.Fatalf("%s %q: %q at %d,%d has the colors %v on %v", k.Name, keys, text, x, y, fg, bg)
					}
				}
			}
		}
	}
}

// seen holds full color vision and simulations of color blindness as matrices for linear RGB (Machado, Oliveira and
// Fernandes 2009, severity 1).
var seen = map[string][3][3]float64{
	"all colors": {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"no red":     {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"no green":   {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"no blue":    {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

// lab returns a color in CIELAB as it is seen with one of the matrices of seen.
func lab(c tcell.Color, see [3][3]float64) [3]float64 {
	r, g, b := c.RGB()
	var in, out [3]float64
	for i, v := range []int32{r, g, b} {
		if in[i] = float64(v) / 255; in[i] <= .04045 {
			in[i] /= 12.92
		} else {
			in[i] = math.Pow((in[i]+.055)/1.055, 2.4)
		}
	}
	for i := range out {
		for j := range in {
			out[i] += see[i][j] * in[j]
		}
		out[i] = min(max(out[i], 0), 1)
	}
	f := func(v float64) float64 {
		if v > 216.0/24389 {
			return math.Cbrt(v)
		}
		return (v*24389/27 + 16) / 116
	}
	x := f((.4124*out[0] + .3576*out[1] + .1805*out[2]) / .95047)
	y := f(.2126*out[0] + .7152*out[1] + .0722*out[2])
	z := f((.0193*out[0] + .1192*out[1] + .9505*out[2]) / 1.08883)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

// The colors of states in the palette "blind" differ clearly with each simulated kind of color blindness.
func TestBlind(t *testing.T) {
	const clearly = 15 // ΔE of CIE 1976; 2.3 is just noticeable
	p := paletteOf("blind", nil)
	for kind, see := range seen {
		for a := Plain; a < healths; a++ {
			for b := a + 1; b < healths; b++ {
				one, _, _ := p.Health[a].Decompose()
				two, _, _ := p.Health[b].Decompose()
				x, y := lab(one, see), lab(two, see)
				if d := math.Hypot(math.Hypot(x[0]-y[0], x[1]-y[1]), x[2]-y[2]); d < clearly {
					t.Errorf("%s: the colors of state %d and %d differ by %.1f, want at least %d", kind, a, b, d, clearly)
				}
			}
		}
	}
}

// :palette changes the palette while the console runs, except with NO_COLOR.
func TestPaletteCommand(t *testing.T) {
	s := newTestConsole(t, 80, 24, Options{})
	s.press(":palette bl<tab>")
	s.has(":palette blind")
	s.press("<enter>")
	s.has("palette blind")
	if s.app.palette != paletteOf("blind", nil) {
		t.Error("the palette is not blind")
	}
	s.press(":palette<enter>")
	s.has("use one of: palette blind, palette colour, palette contrast, palette mono")
	s.press(":palette sepia<enter>")
	s.has("unknown palette sepia")
	t.Setenv("NO_COLOR", "1")
	s = newTestConsole(t, 80, 24, Options{Palette: "blind"})
	s.press(":palette contrast<enter>")
	s.has("NO_COLOR is set")
	if s.app.palette != palettes["mono"] {
		t.Error("the palette is not mono")
	}
}

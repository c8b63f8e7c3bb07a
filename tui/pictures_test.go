package tui

import (
	"encoding/xml"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"
)

// The pictures in the README and the docs are drawn from the cells of the screen, and equal what the console shows.
func TestPictures(t *testing.T) {
	for _, c := range []struct {
		name, keys string
		w, h       int
		o          Options
	}{
		{"overview", "", 120, 30, Options{}},
		{"calls", ":calls<enter>", 120, 22, Options{}},
		{"servers", ":servers<enter>d", 120, 20, Options{}},
		{"resources", ":resources<enter>/md<enter>d", 120, 24, Options{}},
		{"actors", ":actors<enter>", 100, 15, Options{}},
		{"palette-contrast", ":servers<enter>/s<enter>", 100, 15, Options{Palette: "contrast"}},
		{"palette-blind", ":servers<enter>/s<enter>", 100, 15, Options{Palette: "blind"}},
		{"palette-mono-ascii", ":servers<enter>/s<enter>", 100, 15, Options{Palette: "mono", ASCII: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newTestConsole(t, c.w, c.h, c.o)
			s.press(c.keys)
			s.draw()
			picture := svg(s.screen, "goblin-actor, "+c.name)
			if err := xml.Unmarshal([]byte(picture), new(struct{})); err != nil {
				t.Fatalf("invalid XML: %v", err)
			}
			golden(t, filepath.Join("..", "docs", "images", c.name+".svg"), picture)
		})
	}
}

// The size of a cell and the terminal's colors in the pictures.
const (
	cellW, cellH = 8.4, 18.0
	ink, paper   = "#d8dee9", "#1e2430"
)

var inks = map[tcell.Color]string{
	tcell.ColorBlack: "#1e2430", tcell.ColorGreen: "#a3be8c", tcell.ColorLime: "#a3be8c", tcell.ColorYellow: "#ebcb8b", tcell.ColorRed: "#e06c75",
	tcell.ColorGray: "#8d98ad", tcell.ColorAqua: "#88c0d0", tcell.ColorSilver: "#c8cfdb", tcell.ColorWhite: "#eceff4", tcell.Color236: "#303030",
}

// inkOf returns the color of a text or a background in the pictures, or other if the terminal chooses it.
func inkOf(c tcell.Color, other string) string {
	if color, ok := inks[c]; ok {
		return color
	}
	if c.IsRGB() {
		return fmt.Sprintf("#%06x", c.Hex())
	}
	return other
}

// svg draws a screen. The text in the picture can be searched and copied.
func svg(screen tcell.Screen, title string) string {
	w, h := screen.Size()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="ui-monospace,Menlo,Consolas,monospace" font-size="14" role="img">`+"\n",
		float64(w)*cellW+24, float64(h)*cellH+24)
	fmt.Fprintf(&b, "<title>%s</title>\n", escapeXML(title))
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", paper)
	for y := range h {
		svgLine(&b, screen, y, y)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// svgLine draws line y of the screen as line at of the picture.
func svgLine(b *strings.Builder, screen tcell.Screen, y, at int) {
	w, _ := screen.Size()
	for x := 0; x < w; {
		text, style, cells := screen.Get(x, y)
		from := x
		for x += max(1, cells); x < w; x += max(1, cells) {
			next, nextStyle, n := screen.Get(x, y)
			if nextStyle != style {
				break
			}
			text, cells = text+next, n
		}
		svgRun(b, from, at, x-from, text, style)
	}
}

// svgRun draws adjacent cells of one style.
func svgRun(b *strings.Builder, x, y, n int, text string, style tcell.Style) {
	fg, bg, attributes := style.Decompose()
	left, top := 12+float64(x)*cellW, 12+float64(y)*cellH
	reverse := attributes&tcell.AttrReverse != 0
	if color := inkOf(bg, ""); color != "" || reverse {
		if reverse {
			color = inkOf(fg, ink)
		}
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.0f" fill="%s"/>`+"\n", left, top, float64(n)*cellW, cellH, color)
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	color, weight := inkOf(fg, ink), ""
	if reverse {
		color = inkOf(bg, paper)
	}
	if attributes&tcell.AttrBold != 0 {
		weight = ` font-weight="bold"`
	}
	if attributes&tcell.AttrUnderline != 0 {
		weight += ` text-decoration="underline"`
	}
	if attributes&tcell.AttrDim != 0 {
		weight += ` opacity="0.6"`
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" fill="%s"%s textLength="%.1f" xml:space="preserve">%s</text>`+"\n",
		left, top+13.5, color, weight, float64(n)*cellW, escapeXML(text))
}

func escapeXML(s string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		return ""
	}
	return b.String()
}

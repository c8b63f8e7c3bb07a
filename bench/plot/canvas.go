package plot

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"strconv"
)

// The width of all charts and their margins, in pixels.
const (
	width  = 760
	left   = 74
	right  = 24
	top    = 44
	lineup = 18 // height of a line of the legend
)

// colors is a palette for color-blind readers (Okabe and Ito) on white.
var colors = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9", "#000000", "#7f7f7f"}

func color(i int) string { return colors[i%len(colors)] }

// canvas collects the elements of one picture.
type canvas struct {
	bytes.Buffer
	height int
}

func newCanvas(title string, height int) *canvas {
	c := &canvas{height: height}
	fmt.Fprintf(c, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="12" fill="#222">`+"\n",
		width, height, width, height)
	fmt.Fprintf(c, "<title>%s</title>\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", html.EscapeString(clean(title)), width, height)
	c.text(left, 24, "start", ` font-size="16" font-weight="bold"`, title)
	return c
}

func (c *canvas) end() []byte {
	c.WriteString("</svg>\n")
	return c.Bytes()
}

// text draws text. The point is its start, middle or end, depending on anchor. more contains further attributes.
func (c *canvas) text(x, y float64, anchor, more, text string) {
	fmt.Fprintf(c, `<text x="%s" y="%s" text-anchor="%s"%s>%s</text>`+"\n", px(x), px(y), anchor, more, html.EscapeString(clean(text)))
}

func (c *canvas) line(x1, y1, x2, y2 float64, more string) {
	fmt.Fprintf(c, `<line x1="%s" y1="%s" x2="%s" y2="%s"%s/>`+"\n", px(x1), px(y1), px(x2), px(y2), more)
}

// mark draws a point of a series. Shapes also distinguish series, for prints without colors.
func (c *canvas) mark(shape int, x, y float64, color string) {
	switch shape % 4 {
	case 0:
		fmt.Fprintf(c, `<circle cx="%s" cy="%s" r="4" fill="%s"/>`+"\n", px(x), px(y), color)
	case 1:
		fmt.Fprintf(c, `<rect x="%s" y="%s" width="8" height="8" fill="%s"/>`+"\n", px(x-4), px(y-4), color)
	case 2:
		fmt.Fprintf(c, `<path d="M%s %sl5 9h-10z" fill="%s"/>`+"\n", px(x), px(y-5), color)
	default:
		fmt.Fprintf(c, `<path d="M%s %sl5 5l-5 5l-5 -5z" fill="%s"/>`+"\n", px(x), px(y-5), color)
	}
}

// px formats a coordinate with at most one decimal.
func px(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// clean removes control characters and other characters that XML does not allow.
func clean(text string) string {
	out := []rune(text)
	n := 0
	for _, r := range out {
		if r >= ' ' && r != 0xFFFE && r != 0xFFFF {
			out[n] = r
			n++
		}
	}
	return string(out[:n])
}

// short formats a number for an axis, such as 12k for 12000.
func short(v float64) string {
	a := math.Abs(v)
	switch {
	case a >= 1e9:
		return trimmed(v/1e9) + "G"
	case a >= 1e6:
		return trimmed(v/1e6) + "M"
	case a >= 1e4:
		return trimmed(v/1e3) + "k"
	}
	return trimmed(v)
}

func trimmed(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

package plot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Point is one measured value.
type Point struct{ X, Y float64 }

// Line is a series of points, joined in the order of X.
type Line struct {
	Name   string
	Points []Point
	Dashed bool    // a second value of the previous line, in the same color
	Ring   float64 // X of a point to mark with a ring, such as the knee; 0 = none
}

// Lines is a line chart with a logarithmic X axis.
type Lines struct {
	Title, X, Y string
	Powers      bool // the Y axis is logarithmic too; else it starts at zero
	Lines       []Line
	Marks       []Mark
}

// Mark is a label for a value of X, such as the knee.
type Mark struct {
	X    float64
	Name string
}

// SVG draws the chart.
func (l Lines) SVG() []byte {
	lines := l.drawable()
	height := 380 + lineup*((len(lines)+1)/2)
	c := newCanvas(l.Title, height)
	if len(lines) == 0 {
		c.text(width/2, 200, "middle", "", "nothing to draw")
		return c.end()
	}
	x, y := l.axes(lines)
	l.grid(c, x, y)
	for _, m := range l.Marks {
		if finite(m.X) && m.X >= x.low && m.X <= x.high {
			c.line(x.at(m.X), y.from, x.at(m.X), y.to, ` stroke="#555" stroke-dasharray="2 4"`)
			anchor, gap := "start", 5.0
			if x.at(m.X) > width*2/3 {
				anchor, gap = "end", -5
			}
			c.text(x.at(m.X)+gap, y.to+12, anchor, ` fill="#555"`, m.Name)
		}
	}
	hue := -1
	for i, line := range lines {
		if !line.Dashed || i == 0 {
			hue++
		}
		series(c, line, x, y, hue)
		column, row := i%2, i/2
		lx, ly := float64(left+column*(width-left-right)/2), float64(366+row*lineup)
		style := ""
		if line.Dashed {
			style = ` stroke-dasharray="6 4"`
		}
		c.line(lx, ly, lx+26, ly, fmt.Sprintf(` stroke="%s" stroke-width="2"%s`, color(hue), style))
		c.mark(hue, lx+13, ly, color(hue))
		c.text(lx+33, ly+4, "start", "", line.Name)
	}
	return c.end()
}

// drawable returns the lines without points that cannot be drawn, and without empty lines.
func (l Lines) drawable() []Line {
	var lines []Line
	for _, line := range l.Lines {
		line.Points = slices.DeleteFunc(slices.Clone(line.Points), func(p Point) bool {
			return !inPowers(p.X) || !(inPowers(p.Y) || p.Y == 0 && !l.Powers)
		})
		slices.SortStableFunc(line.Points, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
		if len(line.Points) > 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

// inPowers reports whether v can be drawn on a logarithmic axis.
func inPowers(v float64) bool { return v >= 1e-9 && v <= 1e15 }

func (l Lines) axes(lines []Line) (x, y axis) {
	lowX, highX, lowY, highY := math.Inf(1), 0.0, math.Inf(1), 0.0
	var at []float64
	for _, line := range lines {
		for _, p := range line.Points {
			lowX, highX, lowY, highY = min(lowX, p.X), max(highX, p.X), min(lowY, p.Y), max(highY, p.Y)
			at = append(at, p.X)
		}
	}
	x = axis{low: lowX / 1.15, high: highX * 1.15, from: left, to: width - right, powers: true}
	slices.Sort(at)
	for _, v := range slices.Compact(at) { // ticks are at the measured values, unless their labels would overlap
		if n := len(x.ticks); n == 0 || x.at(v)-x.at(x.ticks[n-1]) > 34 {
			x.ticks = append(x.ticks, v)
		}
	}
	if l.Powers {
		return x, decades(lowY, highY, 312, top)
	}
	return x, even(highY, 312, top)
}

func (l Lines) grid(c *canvas, x, y axis) {
	for _, v := range y.ticks {
		c.line(x.from, y.at(v), x.to, y.at(v), ` stroke="#ddd"`)
		c.text(x.from-8, y.at(v)+4, "end", "", short(v))
	}
	for _, v := range x.ticks {
		c.line(x.at(v), y.from, x.at(v), y.from+5, ` stroke="#222"`)
		c.text(x.at(v), y.from+20, "middle", "", short(v))
	}
	c.line(x.from, y.from, x.to, y.from, ` stroke="#222"`)
	c.text((x.from+x.to)/2, y.from+36, "middle", "", l.X)
	c.text(16, (y.from+y.to)/2, "middle", fmt.Sprintf(` transform="rotate(-90 16 %s)"`, px((y.from+y.to)/2)), l.Y)
}

func series(c *canvas, line Line, x, y axis, hue int) {
	var at []string
	for _, p := range line.Points {
		at = append(at, px(x.at(p.X))+","+px(y.at(p.Y)))
	}
	style := ""
	if line.Dashed {
		style = ` stroke-dasharray="6 4"`
	}
	fmt.Fprintf(c, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n", strings.Join(at, " "), color(hue), style)
	for _, p := range line.Points {
		c.mark(hue, x.at(p.X), y.at(p.Y), color(hue))
		if p.X == line.Ring {
			fmt.Fprintf(c, `<circle cx="%s" cy="%s" r="9" fill="none" stroke="%s" stroke-width="2"/>`+"\n", px(x.at(p.X)), px(y.at(p.Y)), color(hue))
		}
	}
}

package monitoring

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Sizes of pictures in pixels. A dashboard is 24 cells wide.
const (
	cellWidth, cellHeight = 60, 34
	header                = 64
	gap                   = 4
)

var palette = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9", "#e69f00", "#7f7f7f"}

// picture is an SVG document.
type picture struct{ bytes.Buffer }

func (p *picture) text(x, y float64, size int, anchor, style, text string) {
	fmt.Fprintf(p, `<text x="%.1f" y="%.1f" font-size="%d" text-anchor="%s"%s>%s</text>`+"\n", x, y, size, anchor, style, html.EscapeString(text))
}

// box is the area of a panel, in pixels.
type box struct{ x, y, w, h float64 }

// drawBoard draws the panels of a dashboard at their positions, with the data of their queries. The result is not a screenshot of Grafana.
func drawBoard(b board, results map[int][]result) []byte {
	bottom := 0
	for _, panel := range b.Panels {
		bottom = max(bottom, panel.GridPos.Y+panel.GridPos.H)
	}
	p := &picture{}
	width, height := 24*cellWidth+2*gap, header+bottom*cellHeight+gap
	fmt.Fprintf(p, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" fill="#222">`+"\n", width, height, width, height)
	fmt.Fprintf(p, `<rect width="%d" height="%d" fill="#f4f5f5"/>`+"\n", width, height)
	p.text(12, 28, 20, "start", ` font-weight="bold"`, b.Title)
	p.text(12, 50, 12, "start", ` fill="#666"`, "drawn by tests/monitoring from the data that Prometheus returned for each query; not a screenshot of Grafana")
	for _, panel := range b.Panels {
		g := panel.GridPos
		area := box{float64(g.X*cellWidth + gap), float64(header + g.Y*cellHeight), float64(g.W*cellWidth - gap), float64(g.H*cellHeight - gap)}
		fmt.Fprintf(p, `<rect x="%.0f" y="%.0f" width="%.0f" height="%.0f" rx="3" fill="#fff" stroke="#ddd"/>`+"\n", area.x, area.y, area.w, area.h)
		p.text(area.x+8, area.y+18, 13, "start", ` font-weight="bold"`, panel.Title)
		inner := box{area.x + 8, area.y + 26, area.w - 16, area.h - 34}
		switch panel.Type {
		case "stat":
			p.stat(inner, panel, results[panel.ID])
		case "table":
			p.table(inner, panel, results[panel.ID])
		case "state-timeline":
			p.states(inner, results[panel.ID])
		default:
			p.lines(inner, panel, results[panel.ID])
		}
	}
	p.WriteString("</svg>\n")
	return p.Bytes()
}

func (p *picture) stat(at box, panel panel, results []result) {
	d := panel.FieldConfig.Defaults
	var value float64
	if s := results[0].series; len(s) > 0 && len(s[0].points) > 0 {
		value = s[0].points[len(s[0].points)-1].value
	}
	color, text := "#222", format(value, d.Unit)
	for _, s := range d.Thresholds.Steps {
		if s.Value == nil || value >= *s.Value {
			color = map[string]string{"green": "#1a7f37", "red": "#cf222e", "orange": "#bc4c00", "blue": "#0550ae"}[s.Color]
		}
	}
	for _, m := range d.Mappings {
		if o, ok := m.Options[strconv.FormatFloat(value, 'f', -1, 64)]; ok {
			text = o.Text
		}
	}
	p.text(at.x+at.w/2, at.y+at.h*.66, 30, "middle", ` fill="`+color+`"`, text)
}

func (p *picture) table(at box, panel panel, results []result) {
	o := panel.Transformations[0].Options
	var columns []string
	for name := range o.IndexByName {
		columns = append(columns, name)
	}
	slices.SortFunc(columns, func(a, b string) int { return cmp.Compare(o.IndexByName[a], o.IndexByName[b]) })
	var unit string
	_ = json.Unmarshal(panel.FieldConfig.Overrides[0].Properties[0].Value, &unit)
	row := func(i int, style string, cell func(column string) string) {
		for j, column := range columns {
			p.text(at.x+float64(j)*at.w/float64(len(columns)), at.y+14+22*float64(i), 12, "start", style, cell(column))
		}
	}
	row(0, ` fill="#0550ae"`, func(column string) string { return o.RenameByName[column] })
	for i, s := range results[0].series {
		row(i+1, "", func(column string) string {
			if column == "Value" {
				return format(s.points[0].value, unit)
			}
			return s.labels[column]
		})
	}
}

// states draws one bar per series, green while its value is 1.
func (p *picture) states(at box, results []result) {
	x := timeAxis(results, at.x+110, at.x+at.w)
	all := results[0].series
	height := min(30, (at.h-20)/float64(len(all)))
	for i, s := range all {
		y := at.y + float64(i)*height
		p.text(at.x, y+height/2+4, 12, "start", "", results[0].name(&s))
		for j := 0; j < len(s.points); {
			point := s.points[j]
			for j++; j < len(s.points) && s.points[j].value == point.value; j++ {
			}
			end := x.to
			if j < len(s.points) {
				end = x.at(s.points[j].at)
			}
			fmt.Fprintf(p, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", x.at(point.at), y+2, end-x.at(point.at), height-4, map[bool]string{true: "#5aab61", false: "#e0565b"}[point.value == 1])
		}
	}
	p.times(x, at.y+at.h)
}

// line is a series with its name and color.
type line struct {
	name, color string
	points      []point
	base        []float64 // what the series is stacked on; nil = it is not
}

func (p *picture) lines(at box, panel panel, results []result) {
	d := panel.FieldConfig.Defaults
	var all []line
	high := 0.0
	sums := map[float64]float64{}
	for _, r := range results {
		for _, s := range r.series {
			l := line{name: r.name(&s), color: palette[len(all)%len(palette)], points: s.points}
			if d.Custom.Stacking.Mode == "normal" {
				l.points = slices.Clone(s.points)
				for i, point := range s.points {
					l.base = append(l.base, sums[point.at])
					sums[point.at] += point.value
					l.points[i].value = sums[point.at]
				}
			}
			for _, point := range l.points {
				high = max(high, point.value)
			}
			all = append(all, l)
		}
	}
	bottom := p.legend(at, all) - 20
	ticks := ticksUpTo(high)
	y := axis{0, ticks[len(ticks)-1], bottom, at.y + 4}
	left := at.x
	for _, tick := range ticks {
		left = max(left, at.x+7*float64(len([]rune(format(tick, d.Unit))))+6)
	}
	x := timeAxis(results, left, at.x+at.w)
	for _, tick := range ticks {
		fmt.Fprintf(p, `<path d="M%.1f %.1fH%.1f" stroke="#e4e4e4"/>`+"\n", x.from, y.at(tick), x.to)
		p.text(left-5, y.at(tick)+4, 11, "end", ` fill="#666"`, format(tick, d.Unit))
	}
	for _, l := range slices.Backward(all) {
		p.curve(x, y, l)
	}
	p.times(x, bottom+16)
}

// legend writes the names at the bottom of the box, in at most three rows, and returns where they begin.
func (p *picture) legend(at box, all []line) float64 {
	rows, x := [][]line{nil}, 0.0
	for _, l := range all {
		size := 7*float64(len([]rune(l.name))) + 26
		if x+size > at.w && x > 0 {
			rows, x = append(rows, nil), 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], l)
		x += size
	}
	rows = rows[:min(len(rows), 3)]
	for i, row := range rows {
		x, y := at.x, at.y+at.h-16*float64(len(rows)-1-i)
		for _, l := range row {
			fmt.Fprintf(p, `<rect x="%.1f" y="%.1f" width="10" height="4" fill="%s"/>`+"\n", x, y-6, l.color)
			p.text(x+14, y, 11, "start", "", l.name)
			x += 7*float64(len([]rune(l.name))) + 26
		}
	}
	return at.y + at.h - 16*float64(len(rows))
}

// curve draws a line, with gaps where values are more than 1.5 s apart. For a stacked series, it also fills the area down to the base.
func (p *picture) curve(x, y axis, l line) {
	var path, floor strings.Builder
	for i, point := range l.points {
		command := "L"
		if i == 0 || point.at-l.points[i-1].at > 1.5 {
			command = "M"
		}
		fmt.Fprintf(&path, "%s%.1f %.1f", command, x.at(point.at), y.at(point.value))
	}
	if l.base != nil && len(l.points) > 0 {
		for i, point := range slices.Backward(l.points) {
			fmt.Fprintf(&floor, "L%.1f %.1f", x.at(point.at), y.at(l.base[i]))
		}
		fmt.Fprintf(p, `<path d="%s%sZ" fill="%s" fill-opacity="0.35"/>`+"\n", "M"+strings.ReplaceAll(path.String()[1:], "M", "L"), floor.String(), l.color)
	}
	fmt.Fprintf(p, `<path d="%s" fill="none" stroke="%s" stroke-width="1.5"/>`+"\n", path.String(), l.color)
}

// axis maps values to pixels.
type axis struct{ low, high, from, to float64 }

func (a axis) at(v float64) float64 { return a.from + (v-a.low)/(a.high-a.low)*(a.to-a.from) }

// timeAxis returns the axis of the times in all results.
func timeAxis(results []result, from, to float64) axis {
	low, high := math.Inf(1), math.Inf(-1)
	for _, r := range results {
		for _, s := range r.series {
			for _, point := range s.points {
				low, high = min(low, point.at), max(high, point.at)
			}
		}
	}
	if low >= high {
		low, high = 0, 1
	}
	return axis{low, high, from, to}
}

// times labels the axis with the seconds since the first value, every 15 s.
func (p *picture) times(x axis, y float64) {
	for s := 0.0; s <= x.high-x.low; s += 15 {
		p.text(x.at(x.low+s), y, 11, "middle", ` fill="#666"`, fmt.Sprintf("%.0f s", s))
	}
}

// ticksUpTo returns round numbers from 0 to at least high.
func ticksUpTo(high float64) (ticks []float64) {
	if high <= 0 {
		return []float64{0, 1}
	}
	power := math.Pow(10, math.Floor(math.Log10(high/4)))
	for _, m := range []float64{1, 2, 2.5, 5, 10} {
		if step := m * power; step*4 >= high*(1-1e-9) {
			for i := 0; float64(i-1)*step < high*(1-1e-9); i++ {
				ticks = append(ticks, float64(i)*step)
			}
			return ticks
		}
	}
	return []float64{0, high}
}

// format writes a value with its unit, as Grafana does.
func format(v float64, unit string) string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }
	scaled := func(factor float64, units ...string) string {
		i := 0
		for ; v >= factor && i < len(units)-1; i++ {
			v /= factor
		}
		return strings.TrimSpace(number(v) + " " + units[i])
	}
	switch unit {
	case "s":
		switch {
		case v == 0:
			return "0 s"
		case v < .001:
			return number(v*1e6) + " µs"
		case v < 1:
			return number(v*1e3) + " ms"
		case v < 120:
			return number(v) + " s"
		}
		return number(v/60) + " min"
	case "percentunit":
		return strconv.FormatFloat(v*100, 'f', 1, 64) + " %"
	case "reqps", "cps":
		return number(v) + "/s"
	case "bytes":
		return scaled(1024, "B", "KiB", "MiB", "GiB")
	case "Bps":
		return scaled(1000, "B/s", "kB/s", "MB/s")
	}
	return scaled(1000, "", "K", "M")
}

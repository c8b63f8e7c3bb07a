package plot

import "fmt"

// Bar is one bar of a chart, with its name and value.
type Bar struct {
	Name  string
	Value float64
	Text  string // label after the bar; "" = the value
	Hue   int    // bars with the same hue have the same color
	Pale  bool   // drawn in a lighter color, as a second value of the previous bar
}

// Bars is a chart of horizontal bars, the first at the top.
type Bars struct {
	Title, Unit string
	Bars        []Bar
}

// nameWidth is the width of the names of bars. A character takes 6.5 pixels.
const nameWidth = 276

// SVG draws the chart.
func (b Bars) SVG() []byte {
	var bars []Bar
	high := 0.0
	for _, bar := range b.Bars {
		if inPowers(bar.Value) || bar.Value == 0 {
			bars = append(bars, bar)
			high = max(high, bar.Value)
		}
	}
	foot := float64(top + 8 + 24*len(bars))
	c := newCanvas(b.Title, int(foot)+46)
	if len(bars) == 0 {
		c.text(width/2, foot+20, "middle", "", "nothing to draw")
		return c.end()
	}
	x := even(high, nameWidth, width-80)
	for _, v := range x.ticks {
		c.line(x.at(v), top, x.at(v), foot, ` stroke="#ddd"`)
		c.text(x.at(v), foot+16, "middle", "", short(v))
	}
	for i, bar := range bars {
		y := float64(top + 6 + 24*i)
		c.text(nameWidth-8, y+14, "end", "", cut(bar.Name, (nameWidth-12)*2/13))
		pale := ""
		if bar.Pale {
			pale = ` fill-opacity="0.55"`
		}
		fmt.Fprintf(c, `<rect x="%d" y="%s" width="%s" height="18" fill="%s"%s/>`+"\n", nameWidth, px(y), px(max(x.at(bar.Value)-nameWidth, 0.5)), color(bar.Hue), pale)
		text := bar.Text
		if text == "" {
			text = short(bar.Value)
		}
		c.text(x.at(bar.Value)+6, y+14, "start", "", text)
	}
	c.text((x.from+x.to)/2, foot+34, "middle", "", b.Unit)
	return c.end()
}

// cut shortens text to at most n characters.
func cut(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return text
}

package tui

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/status"
)

// scene is a part of the cast: its caption, the keys that are pressed, and how long their effect stays on the screen.
type scene struct {
	caption, keys string
	seconds       float64
}

// firstMinute is what a new user may do first: find out what fails, what is stuck and what happened, and call a tool.
var firstMinute = []scene{
	{"goblin-actor tui: what fails, and why", "", 4},
	{"enter: one level down, to the server", "<enter>", 4},
	{"tab: its calls", "<tab>", 3},
	{"0  ↓: back, and the next server", "0<down>", 2},
	{"6: all calls, first those that run", "6", 3},
	{"enter: what does this one wait for?", "<enter>", 4},
	{"esc  /outcome:!ok: which calls failed?", "<esc>/outcome:!ok<enter>", 3},
	{"2: the tools", "2", 3},
	{"r: call one, with a form made from its schema", "r", 2},
	{"typing", "/n/todo", 1},
	{"", ".md", 1},
	{"tab: faults are shown as one types", "<tab>twenty", 3},
	{"", "<backspace><backspace><backspace><backspace><backspace><backspace>20", 2},
	{"ctrl-r: run", "<ctrl-r>", 5},
	{"esc  8: the actors behind all this", "<esc>8", 4},
	{"0: and back", "0", 3},
}

// TestCast draws docs/images/cast.svg, the first minute with the console, from the cells of the screen.
func TestCast(t *testing.T) {
	s := newTestConsole(t, 120, 32, Options{})
	s.app.source = &user{used: make(chan status.Use, 1), answer: func(context.Context, func(status.UseEvent)) (status.UseResult, error) {
		return status.UseResult{Result: json.RawMessage(`{"content":[{"type":"text","text":"# Today\n- answer ada\n- buy milk"}]}`)}, nil
	}}
	p := samplePicture()
	p.Items.Version++
	p.Items.Tools[0].Raw = readFile
	s.app.take(p)
	c := cast{lines: map[string]int{}}
	for _, scene := range firstMinute {
		s.press(scene.keys)
		if strings.HasSuffix(scene.keys, "<ctrl-r>") {
			s.happen()
		}
		s.draw()
		c.add(s, scene)
		s.now = s.now.Add(time.Duration(scene.seconds * float64(time.Second)))
	}
	picture := c.svg(s)
	if err := xml.Unmarshal([]byte(picture), new(struct{})); err != nil {
		t.Fatalf("invalid XML: %v", err)
	}
	golden(t, filepath.Join("..", "docs", "images", "cast.svg"), picture)
}

// cast collects screens. Lines that appear in several screens are stored once.
type cast struct {
	defs    strings.Builder
	lines   map[string]int // a line's drawing → the number in its id
	frames  []string
	starts  []float64 // seconds
	seconds float64   // of all frames so far
}

func (c *cast) add(s *testConsole, scene scene) {
	w, h := s.screen.Size()
	var frame strings.Builder
	for y := range h {
		var line strings.Builder
		svgLine(&line, s.screen, y, 0)
		if line.Len() == 0 {
			continue
		}
		n, ok := c.lines[line.String()]
		if !ok {
			n = len(c.lines)
			c.lines[line.String()] = n
			fmt.Fprintf(&c.defs, "<g id=\"l%d\">\n%s</g>\n", n, line.String())
		}
		fmt.Fprintf(&frame, `<use href="#l%d" y="%.0f"/>`, n, float64(y)*cellH)
	}
	fmt.Fprintf(&frame, "\n<text x=\"%.1f\" y=\"%.1f\" fill=\"#ebcb8b\" font-weight=\"bold\" text-anchor=\"end\">%s</text>\n",
		12+float64(w)*cellW, 12+float64(h)*cellH+19, escapeXML(scene.caption))
	c.frames = append(c.frames, frame.String())
	c.starts = append(c.starts, c.seconds)
	c.seconds += scene.seconds
}

// svg returns the animation. It repeats; a viewer that prefers less motion sees the first screen only.
func (c *cast) svg(s *testConsole) string {
	w, h := s.screen.Size()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="ui-monospace,Menlo,Consolas,monospace" font-size="14" role="img">`+"\n",
		float64(w)*cellW+24, float64(h)*cellH+48)
	fmt.Fprintf(&b, "<title>the first minute with goblin-actor's console</title>\n<style>\n.f{visibility:hidden;animation:%gs step-end infinite}\n", c.seconds)
	for i, start := range c.starts {
		end := c.seconds
		if i+1 < len(c.starts) {
			end = c.starts[i+1]
		}
		from, to := 100*start/c.seconds, 100*end/c.seconds
		first := "hidden"
		if i == 0 {
			first = "visible" // also without animations
		}
		fmt.Fprintf(&b, ".f%d{visibility:%s;animation-name:f%d}@keyframes f%d{0%%{visibility:%s}", i, first, i, i, first)
		if i > 0 {
			fmt.Fprintf(&b, "%.2f%%{visibility:visible}", from)
		}
		if end < c.seconds {
			fmt.Fprintf(&b, "%.2f%%{visibility:hidden}", to)
		}
		b.WriteString("}\n")
	}
	fmt.Fprintf(&b, "@media (prefers-reduced-motion){.f{animation:none}}\n</style>\n")
	fmt.Fprintf(&b, "<rect width=\"100%%\" height=\"100%%\" rx=\"8\" fill=\"%s\"/>\n<defs>\n%s</defs>\n", paper, c.defs.String())
	for i, frame := range c.frames {
		fmt.Fprintf(&b, "<g class=\"f f%d\">%s</g>\n", i, frame)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

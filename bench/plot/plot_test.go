package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

// valid parses an SVG as XML and returns its texts.
func valid(t *testing.T, svg []byte) string {
	t.Helper()
	var texts strings.Builder
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return texts.String()
		}
		if err != nil {
			t.Fatalf("not XML: %v\n%s", err, svg)
		}
		switch token := token.(type) {
		case xml.CharData:
			texts.Write(token)
			texts.WriteByte('|')
		case xml.StartElement:
			for _, a := range token.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Errorf("<%s %s=%q>", token.Name.Local, a.Name.Local, a.Value)
				}
			}
		}
	}
}

func TestLines(t *testing.T) {
	svg := Lines{Title: "p50 & p99 <of> calls", X: "clients", Y: "µs", Powers: true, Marks: []Mark{{X: 8, Name: "knee"}, {X: 1e9, Name: "far off"}}, Lines: []Line{
		{Name: "direct", Points: []Point{{64, 900}, {1, 50}, {8, 200}}, Ring: 8},
		{Name: "direct, p99", Points: []Point{{1, 90}, {8, 700}, {64, 4000}}, Dashed: true},
		{Name: "broken", Points: []Point{{0, 1}, {1, math.NaN()}, {1, math.Inf(1)}, {2, 0}}},
	}}.SVG()
	texts := valid(t, svg)
	for _, want := range []string{"p50 & p99 <of> calls", "direct, p99", "|knee|", "|64|", "|clients|", "|5000|"} {
		if !strings.Contains(texts, want) {
			t.Errorf("no %q in %s", want, texts)
		}
	}
	for _, not := range []string{"far off", "broken"} {
		if strings.Contains(texts, not) {
			t.Errorf("%q in %s", not, texts)
		}
	}
	if n := bytes.Count(svg, []byte(`r="9"`)); n != 1 {
		t.Errorf("%d rings", n)
	}
	if n := bytes.Count(svg, []byte("<polyline")); n != 2 {
		t.Errorf("%d lines", n)
	}
}

func TestBars(t *testing.T) {
	texts := valid(t, Bars{Title: "cold", Unit: "ms", Bars: []Bar{{Name: "10 × 20", Value: 14}, {Name: strings.Repeat("long ", 20), Value: 30, Text: "30 ms"}, {Name: "none", Value: math.NaN()}}}.SVG())
	if !strings.Contains(texts, "|14|") || !strings.Contains(texts, "|30 ms|") || strings.Contains(texts, "none") || !strings.Contains(texts, "…") {
		t.Error(texts)
	}
	for _, svg := range [][]byte{Bars{}.SVG(), Lines{}.SVG(), Bars{Bars: []Bar{{Name: "zero"}}}.SVG(), Lines{Lines: []Line{{Points: []Point{{1, 0}}}}}.SVG()} {
		valid(t, svg)
	}
}

func TestAxesIncludeTheirValues(t *testing.T) {
	for _, v := range []float64{1e-6, 0.3, 1, 7, 10, 99.9, 100, 12345, 9.99e8} {
		a := even(v, 0, 100)
		if a.high < v*(1-1e-6) || a.high > 2.01*v || len(a.ticks) < 3 || len(a.ticks) > 7 {
			t.Errorf("even(%g): %+v", v, a)
		}
		for _, w := range []float64{1, 1.5, 10, 1e6} {
			p := decades(v, v*w, 0, 100)
			if p.low > v*(1+1e-6) || p.high < v*w*(1-1e-6) || p.low >= p.high || len(p.ticks) < 2 || len(p.ticks) > 11 {
				t.Errorf("decades(%g, %g): %+v", v, v*w, p)
			}
		}
	}
}

// Names come from reports, which may come from an untrusted source.
func FuzzSVG(f *testing.F) {
	f.Add("direct", 1.0, 2.0, 3.0, true)
	f.Add("</text><script>\x00\xff", -1.0, math.Inf(1), 1e300, false)
	f.Fuzz(func(t *testing.T, name string, a, b, c float64, powers bool) {
		valid(t, Lines{Title: name, X: name, Y: name, Powers: powers, Marks: []Mark{{a, name}},
			Lines: []Line{{Name: name, Points: []Point{{a, b}, {b, c}, {c, a}}}, {Name: name, Dashed: true, Points: []Point{{a, c}}}}}.SVG())
		valid(t, Bars{Title: name, Unit: name, Bars: []Bar{{Name: name, Value: a}, {Name: name, Value: b, Text: name}}}.SVG())
	})
}

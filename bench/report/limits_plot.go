package report

import (
	"fmt"
	"io"
	"strings"

	"goblin-actor/bench/plot"
)

// pictures draws throughput and latency of all series by the raised quantity, with rings around the knees. The knee of a
// single series also has a label.
func (l *Limits) pictures() []picture {
	rates := plot.Lines{Title: "bench limits: throughput (ring: the knee)", X: "clients", Y: "calls/s"}
	latencies := plot.Lines{Title: "bench limits: call latency (ring: the knee)", X: "clients", Y: "µs", Powers: true}
	for _, s := range l.Series {
		rates.X = strings.Replace(s.Raise, "rate", "calls/s offered", 1)
		latencies.X = rates.X
		var rate, p50, p99 []plot.Point
		for _, step := range s.Steps {
			if step.Calls == 0 {
				continue // no latency
			}
			x := step.value()
			rate, p50, p99 = append(rate, plot.Point{X: x, Y: step.PerSecond}), append(p50, plot.Point{X: x, Y: step.P50}), append(p99, plot.Point{X: x, Y: step.P99})
		}
		name := s.Server + ", " + s.Era + " clients"
		ring := 0.0
		if s.Knee != nil {
			ring = s.Knee.value()
		}
		rates.Lines = append(rates.Lines, plot.Line{Name: name, Points: rate, Ring: ring})
		latencies.Lines = append(latencies.Lines, plot.Line{Name: name + ", p50", Points: p50, Ring: ring}, plot.Line{Name: name + ", p99", Points: p99, Dashed: true, Ring: ring})
		if k := s.Knee; k != nil && len(l.Series) == 1 {
			rates.Marks = []plot.Mark{{X: k.value(), Name: "knee: " + s.Bottleneck}}
			latencies.Marks = rates.Marks
		}
	}
	return []picture{{"throughput.svg", rates.Title, rates.SVG()}, {"latency.svg", latencies.Title, latencies.SVG()}}
}

// markdown writes the part of report.md below the table.
func (l *Limits) markdown(w io.Writer) {
	for _, s := range l.Series {
		fmt.Fprintf(w, "\n**%s**\n\n", s.heading())
		for _, sentence := range s.words() {
			fmt.Fprintf(w, "- %s\n", sentence)
		}
	}
	for _, note := range l.Notes {
		fmt.Fprintf(w, "\n%s\n", note)
	}
}

package report

import (
	"cmp"
	"fmt"
	"slices"

	"goblin-actor/bench/plot"
)

// picture is a plot of a report. Its file is in the directory of report.md.
type picture struct {
	file, title string
	svg         []byte
}

// pictures draws the plots of the report: rows by clients as lines, or as bars if all rows have the same number of
// clients.
func (r *Report) pictures() []picture {
	switch {
	case r.Idle != nil:
		return []picture{r.Idle.picture()}
	case r.Cold != nil:
		return []picture{r.Cold.picture()}
	case r.Limits != nil:
		return r.Limits.pictures()
	case r.Fanout != nil:
		return []picture{r.Fanout.picture()}
	case r.Faults != nil:
		return []picture{r.Faults.picture()}
	case r.Growth != nil:
		return []picture{r.Growth.picture()}
	case len(r.Rows) == 0:
		return nil
	}
	clients := r.Rows[0].Concurrency
	if slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Concurrency != clients }) {
		return r.rowLines()
	}
	return r.rowBars(clients)
}

func (r *Report) rowLines() []picture {
	var names []string
	rate, p50, p99 := map[string][]plot.Point{}, map[string][]plot.Point{}, map[string][]plot.Point{}
	for _, row := range r.Rows {
		name, x := row.Target, float64(row.Concurrency)
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		rate[name] = append(rate[name], plot.Point{X: x, Y: row.PerSecond})
		p50[name] = append(p50[name], plot.Point{X: x, Y: row.P50})
		p99[name] = append(p99[name], plot.Point{X: x, Y: row.P99})
	}
	rates := plot.Lines{Title: "bench " + r.Kind + ": throughput", X: "clients", Y: "calls/s, median of rounds"}
	latencies := plot.Lines{Title: "bench " + r.Kind + ": call latency", X: "clients", Y: "µs", Powers: true}
	for _, name := range names {
		rates.Lines = append(rates.Lines, plot.Line{Name: name, Points: rate[name]})
		latencies.Lines = append(latencies.Lines, plot.Line{Name: name + ", p50", Points: p50[name]}, plot.Line{Name: name + ", p99", Points: p99[name], Dashed: true})
	}
	return []picture{{"throughput.svg", rates.Title, rates.SVG()}, {"latency.svg", latencies.Title, latencies.SVG()}}
}

func (r *Report) rowBars(clients int) []picture {
	with := fmt.Sprintf("%d clients", clients)
	if clients == 1 {
		with = "1 client"
	}
	rates := plot.Bars{Title: "bench " + r.Kind + ": throughput, " + with, Unit: "calls/s, median of rounds; × " + cmp.Or(r.Base, Direct)}
	latencies := plot.Bars{Title: "bench " + r.Kind + ": call latency, " + with, Unit: "µs"}
	for i, row := range r.Rows {
		rates.Bars = append(rates.Bars, plot.Bar{Name: row.Target, Value: row.PerSecond, Hue: i, Text: fmt.Sprintf("%.0f  × %.2f", row.PerSecond, row.ToBase)})
		latencies.Bars = append(latencies.Bars, plot.Bar{Name: row.Target + ", p50", Value: row.P50, Hue: i}, plot.Bar{Name: "p99", Value: row.P99, Hue: i, Pale: true})
	}
	return []picture{{"throughput.svg", rates.Title, rates.SVG()}, {"latency.svg", latencies.Title, latencies.SVG()}}
}

func (i *Idle) picture() picture {
	bars := plot.Bars{Title: fmt.Sprintf("bench idle: resident memory, waves of %d sessions", i.Sessions), Unit: "MiB"}
	for _, p := range i.Phases {
		hue := 0
		if p.Known > 0 {
			hue = 1
		}
		bars.Bars = append(bars.Bars, plot.Bar{Name: p.Name, Value: p.RSS, Hue: hue, Text: fmt.Sprintf("%.1f", p.RSS)})
	}
	return picture{"idle.svg", bars.Title, bars.SVG()}
}

func (c *Cold) picture() picture {
	bars := plot.Bars{Title: "bench cold: time from process start to the first list", Unit: "ms"}
	for _, row := range c.Rows {
		name := row.name()
		bars.Bars = append(bars.Bars, plot.Bar{Name: name + ", median", Value: row.Median}, plot.Bar{Name: "best", Value: row.Best, Pale: true}, plot.Bar{Name: "bare process", Value: row.Bare, Hue: 7})
	}
	return picture{"cold.svg", bars.Title, bars.SVG()}
}

func (f *Fanout) picture() picture {
	bars := plot.Bars{Title: "bench fanout: p99 time until the last stream has the change", Unit: "ms; pale: direct streams to a server"}
	for i, row := range f.Rows {
		bars.Bars = append(bars.Bars, plot.Bar{Name: fmt.Sprintf("%s, %d", row.name(), row.Subscribers), Value: row.P99, Hue: i}, plot.Bar{Name: "direct", Value: row.DirectP99, Hue: i, Pale: true})
	}
	return picture{"fanout.svg", bars.Title, bars.SVG()}
}

// picture draws the recovery times. Faults without recovery have no bar.
func (f *Faults) picture() picture {
	bars := plot.Bars{Title: "bench faults: time until calls succeed again", Unit: "ms"}
	for i, row := range f.Rows {
		bars.Bars = append(bars.Bars, plot.Bar{Name: row.Fault + ", " + row.Behind + ", " + row.Clients + " clients", Value: row.Back, Hue: i})
	}
	return picture{"faults.svg", bars.Title, bars.SVG()}
}

// picture draws the cost of a call for each growing quantity. Ideally it is constant.
func (g *Growth) picture() picture {
	lines := plot.Lines{Title: "bench growth: CPU time per call", X: "number", Y: "µs of the gateway"}
	for _, row := range g.Rows {
		n := len(lines.Lines)
		if n == 0 || lines.Lines[n-1].Name != row.Of {
			lines.Lines = append(lines.Lines, plot.Line{Name: row.Of})
			n++
		}
		lines.Lines[n-1].Points = append(lines.Lines[n-1].Points, plot.Point{X: float64(row.N), Y: row.CPU})
	}
	return picture{"growth.svg", lines.Title, lines.SVG()}
}

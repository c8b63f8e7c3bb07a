package report

import (
	"fmt"
	"slices"
	"strings"
)

// metric is a measured quantity in reports and assertions.
type metric struct {
	name  string // in assertions
	title string // in tables; unique, unlike the name
	more  bool   // higher values are better
}

// metrics lists all metrics in the order of tables.
var metrics = []metric{
	{"rate", "calls/s", true},
	{"ratio", "× base", true},
	{"ratio", "× proxy", true},
	{"ratio", "× time", false}, // relative to direct
	{"p50", "p50 µs", false},
	{"p99", "p99 µs", false},
	{"cpu", "CPU µs/call", false},
	{"allocs", "allocs/call", false},
	{"idle", "CPU ms/s", false},
	{"rss", "RSS MiB", false},
	{"session", "KiB/session", false},
	{"error", "error ms", false},
	{"back", "back ms", false},
	{"complete", "complete ms", false},
	{"knee", "knee clients", true},
	{"failed", "failed", false},
}

// series is one metric of one target at one number of clients.
type series struct {
	metric  metric
	target  string
	clients int       // 0 = no number of clients
	own     bool      // the target is the gateway, not something that it is compared with
	value   float64   // the value in the report
	values  []float64 // of the rounds; the single value if there are no independent rounds
}

// name returns the target and the number of clients.
func (s series) name() string {
	switch s.clients {
	case 0:
		return s.target
	case 1:
		return s.target + ", 1 client"
	}
	return fmt.Sprintf("%s, %d clients", s.target, s.clients)
}

// series returns all measured values of the report. A zero means not measured, except for failures.
func (r *Report) series() []series {
	var all []series
	add := func(title string, s series) {
		i := slices.IndexFunc(metrics, func(m metric) bool { return m.title == title })
		s.metric, s.values = metrics[i], slices.Clone(s.values)
		if len(s.values) == 0 || slices.Contains(s.values, 0) {
			s.values = []float64{s.value}
		}
		if s.value != 0 || title == "failed" {
			all = append(all, s)
		}
	}
	for _, row := range r.Rows {
		row.series(add)
	}
	if r.Idle != nil {
		r.Idle.series(add)
	}
	if r.Cold != nil {
		r.Cold.series(add)
	}
	if r.Fanout != nil {
		r.Fanout.series(add)
	}
	if r.Growth != nil {
		r.Growth.series(add)
	}
	if r.Cluster != nil {
		r.Cluster.series(add)
	}
	if r.Limits != nil {
		r.Limits.series(add)
	}
	if r.Faults != nil {
		r.Faults.series(add)
	}
	return all
}

func (r Row) series(add func(string, series)) {
	own := !slices.Contains(Comparable, r.Target) && !strings.HasPrefix(r.Target, "static")
	each := func(title string, value float64, of func(RoundRow) float64) {
		s := series{target: r.Target, clients: r.Concurrency, own: own, value: value}
		for _, round := range r.Each {
			s.values = append(s.values, of(round))
		}
		add(title, s)
	}
	each("calls/s", r.PerSecond, func(r RoundRow) float64 { return r.PerSecond })
	each("× base", r.ToBase, func(r RoundRow) float64 { return r.ToBase })
	each("× proxy", r.ToProxy, func(r RoundRow) float64 { return r.ToProxy })
	each("p50 µs", r.P50, func(r RoundRow) float64 { return r.P50 })
	each("p99 µs", r.P99, func(r RoundRow) float64 { return r.P99 })
	each("CPU µs/call", r.CPU, func(r RoundRow) float64 { return r.CPU })
	each("allocs/call", r.Mallocs, func(r RoundRow) float64 { return r.Mallocs })
	// The memory of one process changes little between rounds. If the rounds counted as independent values, any
	// difference would look significant.
	add("RSS MiB", series{target: r.Target, clients: r.Concurrency, own: own, value: r.RSS})
}

func (i *Idle) series(add func(string, series)) {
	for _, p := range i.Phases {
		add("RSS MiB", series{target: p.Name, own: true, value: p.RSS})
	}
	add("KiB/session", series{target: "first wave", own: true, value: i.PerSession})
}

// series adds the time to the first list, as the latency of a call, and to the complete list.
func (c *Cold) series(add func(string, series)) {
	for _, row := range c.Rows {
		s := series{target: row.name(), own: true, value: row.Median * 1000}
		for _, v := range row.Lists {
			s.values = append(s.values, v*1000)
		}
		add("p50 µs", s)
	}
	for _, row := range c.Complete {
		add("complete ms", series{target: row.What, own: true, value: row.All})
	}
}

func (f *Fanout) series(add func(string, series)) {
	for _, row := range f.Rows {
		each := func(title string, value float64) {
			add(title, series{target: row.name(), clients: row.Subscribers, own: true, value: value})
		}
		each("× time", row.ToDirect)
		each("p50 µs", row.P50*1000)
		each("p99 µs", row.P99*1000)
		each("CPU µs/call", row.CPU)
		each("RSS MiB", row.RSS)
		each("failed", float64(row.Lost+row.Doubled+row.Crossed))
	}
}

// series omits times of events that did not occur.
func (f *Faults) series(add func(string, series)) {
	for _, row := range f.Rows {
		each := func(title string, value float64) {
			add(title, series{target: row.Fault + ", " + row.Behind + ", " + row.Clients + " clients", own: true, value: max(0, value)})
		}
		each("error ms", row.Error)
		each("back ms", row.Back)
		each("p99 µs", row.During*1000)
		each("failed", float64(row.Lost+row.Wrong))
	}
}

// series adds a series for each step. The values at the knee have a separate target.
func (l *Limits) series(add func(string, series)) {
	for _, s := range l.Series {
		name := s.Server + ", " + s.Era + " clients"
		if s.MaxConcurrent > 0 {
			name += fmt.Sprintf(", maxConcurrent %d", s.MaxConcurrent)
		}
		each := func(target string, clients int, step LimitStep) {
			add("calls/s", series{target: target, clients: clients, own: true, value: step.PerSecond})
			add("p50 µs", series{target: target, clients: clients, own: true, value: step.P50})
			add("p99 µs", series{target: target, clients: clients, own: true, value: step.P99})
			add("RSS MiB", series{target: target, clients: clients, own: true, value: step.RSS})
			add("failed", series{target: target, clients: clients, own: true, value: float64(step.Failures())})
		}
		for _, step := range s.Steps {
			each(name, step.Clients, step)
		}
		if s.Knee != nil {
			each(name+", at the knee", 0, *s.Knee)
			add("knee clients", series{target: name, own: true, value: float64(s.Knee.Clients)})
		}
	}
}

func (g *Growth) series(add func(string, series)) {
	for _, row := range g.Rows {
		each := func(title string, value float64) {
			add(title, series{target: fmt.Sprintf("%d %s", row.N, row.Of), own: true, value: value})
		}
		each("p50 µs", row.P50)
		each("CPU µs/call", row.CPU)
		each("RSS MiB", row.RSS)
	}
	add("failed", series{target: "costs that grow faster than linearly", own: true, value: float64(len(g.Faults))})
}

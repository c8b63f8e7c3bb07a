package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// GrowthKinds are what Growth can make more of.
var GrowthKinds = []string{"sessions", "servers", "items", "flight", "checks"}

// growthSizes are how many of each.
var growthSizes = map[string][]int{
	"sessions": {1, 10, 100, 1000, 10_000},
	"servers":  {1, 10, 100},
	"items":    {10, 100, 1000, 10_000, 100_000},
	"flight":   {1, 10, 100, 1000},
	"checks":   {1000, 10_000},
}

// GrowthOptions say what Growth measures. Default completes them.
type GrowthOptions struct {
	What     []string      // of GrowthKinds; default all
	Behind   string        // one of ServerKinds; default http
	Clients  string        // one of Eras; default legacy
	Most     int           // leaves out sizes above it; default none
	Duration time.Duration // of calls at each size; default 2 s
	Program  string        // this binary
	Commit   string        // for the report
	Command  string        // for the report

	gateways int // checks: of each kind, in turns; default 7
}

// Default fills in what was left zero.
func (o GrowthOptions) Default() GrowthOptions {
	if len(o.What) == 0 {
		o.What = GrowthKinds
	}
	if o.Behind == "" {
		o.Behind = ServerKinds[0]
	}
	if o.Clients == "" {
		o.Clients = Eras[0]
	}
	if o.Most == 0 {
		o.Most = math.MaxInt
	}
	if o.Duration == 0 {
		o.Duration = 2 * time.Second
	}
	o.gateways = cmp.Or(o.gateways, 7)
	return o
}

// Validate returns all faults at once.
func (o GrowthOptions) Validate() error {
	faults := []error{allOf("of", o.What, GrowthKinds), allOf("behind", []string{o.Behind}, ServerKinds), allOf("clients", []string{o.Clients}, Eras)}
	if o.Duration < 0 || o.Most < 0 {
		faults = append(faults, errors.New("duration and most: want more than 0"))
	}
	return errors.Join(faults...)
}

// Growth is what a call costs, and one more of something, when there is much of it.
type Growth struct {
	Behind  string      `json:"behind"`
	Clients string      `json:"clients"`
	Rows    []GrowthRow `json:"rows"`
	Faults  []string    `json:"faults,omitempty"` // what grows faster than linear, or was refused
}

// GrowthRow is one size. Zero where something was not measured.
type GrowthRow struct {
	Of    string  `json:"of"`
	N     int     `json:"n"`
	CPU   float64 `json:"cpuMicrosPerCall"` // of the gateway
	P50   float64 `json:"p50Micros"`        // of the calls
	KiB   float64 `json:"kibEach"`          // memory in use for each that is more than in the row before
	List  float64 `json:"cpuMicrosPerItem"` // items: of the gateway for listing each of them
	Use   float64 `json:"inUseMiB"`         // heap and stacks, after a garbage collection
	RSS   float64 `json:"rssMiB"`
	Ready float64 `json:"readyMillis"` // servers, items: from the gateway's start

	First        float64 `json:"firstMillis,omitempty"`   // checks: from a server's first list until a client sees it
	Checked      float64 `json:"firstRatio,omitempty"`    // the same, divided by that of a gateway that does not check definitions
	Changed      float64 `json:"changedMillis,omitempty"` // from its list in which one tool is new until a client is told
	CheckedAgain float64 `json:"changedRatio,omitempty"`  // the same, divided by that of a gateway that does not check definitions

	Refused int `json:"refused"` // calls that got QUEUE_FULL or OVERLOADED: nothing was sent
}

// growthNoise is the exponent that counts as growing faster than linear: at ten times as many each costs twice as much. A machine
// that others use makes smaller steps by itself.
const growthNoise = 1.3

// memoryNoise is how many KiB a size must have taken to be compared with: heaps grow by spans.
const memoryNoise = 1024

// growthFrom is the smallest size that is compared: below it, what the first one costs says nothing of the next.
const growthFrom = 10

// judge names what grows faster than linear from one size to the next, and where calls were refused.
func (g *Growth) judge() {
	for i, now := range g.Rows {
		if now.Refused > 0 {
			g.Faults = append(g.Faults, fmt.Sprintf("%s %d: %d calls were refused as too many (QUEUE_FULL, OVERLOADED)", now.Of, now.N, now.Refused))
		}
		before := g.Rows[max(i-1, 0)]
		if i == 0 || before.Of != now.Of || before.N < growthFrom {
			continue
		}
		for _, c := range []struct {
			what          string
			before, later float64
		}{
			{"CPU of a call", before.CPU, now.CPU},
			{"memory", before.KiB, now.KiB},
			{"CPU of listing each", before.List, now.List},
		} {
			if c.what == "memory" && before.KiB*float64(before.N) < memoryNoise {
				continue
			}
			if e := exponent(before.N, now.N, c.before, c.later); e > growthNoise {
				g.Faults = append(g.Faults, fmt.Sprintf("%s %d → %d: %s %.1f → %.1f, as n^%.2f", now.Of, before.N, now.N, c.what, c.before, c.later, e))
			}
		}
	}
}

// exponent is e where the cost of all grows as n^e, each of them having cost before and costing now; 1 where either is not known.
func exponent(few, many int, before, now float64) float64 {
	if before <= 0 || now <= 0 {
		return 1
	}
	return 1 + math.Log(now/before)/math.Log(float64(many)/float64(few))
}

func (g *Growth) tables() [][][]string {
	rows := [][]string{{"more", "n", "CPU µs/call", "p50 µs", "KiB each", "µs/item", "in use MiB", "ready ms"}}
	checks := [][]string{{"checked", "tools", "first ms", "× unchecked", "change ms", "× unchecked"}}
	for _, r := range g.Rows {
		if r.Of == "checks" {
			checks = append(checks, []string{"", fmt.Sprint(r.N), number("%.1f", r.First), number("%.2f", r.Checked),
				number("%.1f", r.Changed), number("%.2f", r.CheckedAgain)})
			continue
		}
		rows = append(rows, []string{r.Of, fmt.Sprint(r.N), number("%.1f", r.CPU), number("%.0f", r.P50), number("%.1f", r.KiB), number("%.2f", r.List),
			number("%.1f", r.Use), number("%.0f", r.Ready)})
	}
	tables := [][][]string{rows}
	if len(checks) > 1 {
		tables = append(tables, checks)
	}
	if len(rows) == 1 {
		tables = tables[1:]
	}
	if len(g.Faults) == 0 {
		return tables
	}
	faults := [][]string{{"faults"}}
	for _, f := range g.Faults {
		faults = append(faults, []string{f})
	}
	return append(tables, faults)
}

// RunGrowth measures growth and returns the report. Blocks until done or ctx ends; all processes it started have ended then.
func RunGrowth(ctx context.Context, o GrowthOptions, progress io.Writer) (*Report, error) {
	o = o.Default()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	base := Options{Kind: "growth", Program: o.Program, Commit: o.Commit, Command: o.Command, Servers: 1, Tools: 1}
	return runIn(ctx, base, progress, func(s *setup, report *Report) error {
		report.Growth = &Growth{Behind: o.Behind, Clients: o.Clients}
		// Clients of the modern era that come from one address are one client.
		s.settings = map[string]any{"limits": map[string]any{"maxSessions": 25_000, "maxInFlightPerClient": 25_000}}
		g := &growthRun{setup: s, o: o, growth: report.Growth}
		for _, what := range o.What {
			if err := g.grow(what); err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
		}
		report.Growth.judge()
		for _, f := range report.Growth.Faults {
			fmt.Fprintf(progress, "bench growth: fault: %s\n", f)
		}
		return nil
	})
}

package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"goblin-actor/bench/process"
	"goblin-actor/bench/report"
)

// GrowthKinds are the quantities that RunGrowth can increase.
var GrowthKinds = []string{"sessions", "servers", "items", "flight", "checks"}

// growthSizes maps each kind to the sizes to measure.
var growthSizes = map[string][]int{
	"sessions": {1, 10, 100, 1000, 10_000},
	"servers":  {1, 10, 100},
	"items":    {10, 100, 1000, 10_000, 100_000},
	"flight":   {1, 10, 100, 1000},
	"checks":   {1000, 10_000},
}

// GrowthOptions configures RunGrowth. Default completes them.
type GrowthOptions struct {
	What     []string      // elements of GrowthKinds; default all
	Behind   string        // one of process.ServerKinds; default http
	Clients  string        // one of process.Eras; default legacy
	Most     int           // larger sizes are skipped; default no limit
	Duration time.Duration // how long calls are made at each size; default 2 s
	Program  string        // this binary
	Commit   string        // for the report
	Command  string        // for the report

	gateways int // checks: number of gateways of each kind, started in turn; default 7
}

// Default returns o with zero fields replaced by their defaults.
func (o GrowthOptions) Default() GrowthOptions {
	if len(o.What) == 0 {
		o.What = GrowthKinds
	}
	if o.Behind == "" {
		o.Behind = process.ServerKinds[0]
	}
	if o.Clients == "" {
		o.Clients = process.Eras[0]
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

// Validate returns all errors at once.
func (o GrowthOptions) Validate() error {
	faults := []error{allOf("of", o.What, GrowthKinds), allOf("behind", []string{o.Behind}, process.ServerKinds), allOf("clients", []string{o.Clients}, process.Eras)}
	if o.Duration < 0 || o.Most < 0 {
		faults = append(faults, errors.New("duration and most: expected values of at least 0"))
	}
	return errors.Join(faults...)
}

// RunGrowth measures growth and returns the report. It blocks until it is done or ctx ends, and stops all processes it
// started.
func RunGrowth(ctx context.Context, o GrowthOptions, progress io.Writer) (*report.Report, error) {
	o = o.Default()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	base := Options{Kind: "growth", Program: o.Program, Commit: o.Commit, Command: o.Command, Servers: 1, Tools: 1}
	return runIn(ctx, base, progress, func(s *setup, result *report.Report) error {
		result.Growth = &report.Growth{Behind: o.Behind, Clients: o.Clients}
		// All modern clients at one address count as one client.
		s.Settings = map[string]any{"limits": map[string]any{"maxSessions": 25_000, "maxInFlightPerClient": 25_000}}
		g := &growthRun{setup: s, o: o, growth: result.Growth}
		for _, what := range o.What {
			if err := g.grow(what); err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
		}
		result.Growth.Judge()
		for _, f := range result.Growth.Faults {
			fmt.Fprintf(progress, "bench growth: problem: %s\n", f)
		}
		return nil
	})
}

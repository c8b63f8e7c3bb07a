package bench

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Raises are what can be raised. Everything but clients and rate is raised around raw servers while a few clients call: how much of
// it there may be until their calls become slower.
var Raises = []string{"clients", "rate", "servers", "items", "sessions", "subscribers"}

// ladders are the numbers that are tried, as far as --max lets them.
var ladders = map[string][]int{
	"servers":     {1, 4, 16, 64, 256},
	"items":       {10, 100, 1000, 10_000},
	"sessions":    {1, 100, 1000, 4000},
	"subscribers": {1, 100, 1000, 4000},
}

const (
	raiseClients = 8    // that call while something else is raised
	raiseTries   = 5    // of the first step, and of others at most: the best counts, as what else a machine does only makes slower
	holds        = 0.8  // of the first step's throughput: less means that what was raised costs something
	kept         = 0.95 // of an offered rate: less means that it is too much
)

// findHeld returns the last step up to which all are within the limits and hold. What is offered is held if it is kept up with,
// everything else if throughput is still about that of the first step.
func findHeld(steps []LimitStep, limit time.Duration) knee {
	for i, s := range steps {
		least := kept * s.Offered
		if s.Offered == 0 {
			least = holds * steps[0].PerSecond
		}
		switch {
		case s.good(limit) && s.PerSecond >= least:
		case s.good(limit):
			return knee{i - 1, "falls"}
		case s.slow(limit):
			return knee{i - 1, "p99"}
		default:
			return knee{i - 1, "errors"}
		}
	}
	return knee{len(steps) - 1, "max"}
}

// climbRates offers one rate after the other: an open loop. A call counts from when it was due, so that whoever keeps it waiting
// does not also keep it from being counted.
func (s *limits) climbRates(c *climb, step time.Duration) error {
	load := &crowd{at: c.at, tool: c.tool, modern: c.modern}
	defer load.leave()
	for i, rate := range s.o.Rates {
		s.o.Progress(float64(i)/float64(len(s.o.Rates)), 1, fmt.Sprintf("%s: %g calls a second", c.title(), rate))
		load.rate = rate
		measured, err := s.step(c, load, min(s.o.Max, 128), step)
		if err != nil {
			return err
		}
		measured.Offered = rate
		c.series.Steps = append(c.series.Steps, measured)
	}
	return nil
}

// raise measures calls while there is more and more of something else.
func (s *limits) raise() error {
	what := s.o.Raise
	series := LimitSeries{Server: "h0", Transport: "http", Era: s.o.Eras[0], Raise: what}
	for _, n := range ladders[what] {
		if n > s.o.Max && len(series.Steps) > 0 {
			break
		}
		s.o.Progress(float64(len(series.Steps))/float64(len(ladders[what])), 1, fmt.Sprintf("%d %s", n, what))
		fmt.Fprintf(s.progress, "%s: %d\n", what, n)
		step, err := s.raised(&series, what, n)
		if err != nil {
			return err
		}
		series.Steps = append(series.Steps, step)
		if k := findHeld(series.Steps, s.o.P99); k.ended != "max" {
			break
		}
	}
	k := findHeld(series.Steps, s.o.P99)
	if series.Ended = k.ended; k.at >= 0 {
		series.Knee = &series.Steps[k.at]
	}
	series.explain(LimitServer{Name: series.Server, Local: true}, s.o.P99)
	s.found.Series = append(s.found.Series, series)
	return nil
}

// raised starts servers and a gateway with n of something, measures, and ends them.
func (s *limits) raised(series *LimitSeries, what string, n int) (step LimitStep, err error) {
	before := len(s.running)
	defer func() {
		for _, p := range slices.Backward(s.running[before:]) {
			p.stop()
		}
		s.running = s.running[:before]
	}()
	kind := map[string]string{"legacy": "http", "modern": "http-modern"}[s.o.Eras[0]]
	name, more := "echo", []string(nil)
	if what == "items" {
		name, more = "tool_000", []string{"--tools", strconv.Itoa(n)}
	}
	b, err := s.newBehind(kind, fmt.Sprintf("r%d", before+n), more...)
	if err != nil {
		return step, err
	}
	defer b.close()
	servers := map[string]any{"h0": b.entry}
	if what == "servers" {
		for i := 1; i < n; i++ {
			servers["h"+strconv.Itoa(i)] = map[string]any{"url": fmt.Sprintf("%s/%d", b.at.url, i), "type": "http", "maxConcurrent": 0}
		}
	}
	s.settings = map[string]any{"limits": map[string]any{"maxSessions": 20_000}}
	g, err := s.gateway(servers)
	if err != nil {
		return step, err
	}
	crowded := &audience{all: make(chan struct{}, 1)}
	defer crowded.close()
	switch what {
	case "subscribers":
		crowded.uri = "resource://h0/" + liveURI
		fallthrough
	case "sessions":
		if err := crowded.open(s.ctx, g.process, s.o.Eras[0], n); err != nil {
			return step, err
		}
		s.pause(fanoutQuiet)
		crowded.reset()
	}
	c := &climb{modern: s.o.Eras[0] == "modern", at: newPeer(g.url, nil), tool: tool{Name: "h0_" + name},
		measured: &watched{gateway: g.cmd.Process.Pid, servers: []int{b.at.cmd.Process.Pid}, metrics: g.url.Host, server: "h0"}}
	series.Tool = c.tool.Name
	load := &crowd{at: c.at, tool: c.tool, modern: c.modern}
	defer load.leave()
	stop := func() int { return 0 }
	if what == "subscribers" {
		stop = publishing(s.ctx, crowded, b)
	}
	for try := range raiseTries {
		one, failed := s.step(c, load, raiseClients, s.o.stepTime(2))
		if err = failed; err != nil {
			break
		}
		one.Raised = n
		if try == 0 || one.PerSecond > step.PerSecond && one.failures() <= step.failures() {
			step = one
		}
		step.Tries = try + 1
		if try > 0 && len(series.Steps) > 0 && findHeld(append(slices.Clone(series.Steps), step), s.o.P99).ended == "max" {
			break
		}
	}
	step.Lost += stop()
	step.Crossed, step.Doubled = step.Crossed+int(crowded.crossed.Load()), int(crowded.doubled.Load())
	return step, err
}

// publishing publishes about ten changes a second until it is stopped, which returns how many somebody did not hear.
func publishing(ctx context.Context, a *audience, b *behind) (stop func() (lost int)) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan int)
	go func() {
		lost := 0
		for n := int64(1); ; n++ {
			t, err := a.publish(context.WithoutCancel(ctx), n, fanoutWait, func() error {
				_, err := b.tell("updated %d", n)
				return err
			})
			if lost += t.lost; err != nil {
				lost++
			}
			select {
			case <-ctx.Done():
				done <- lost
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	return func() int {
		cancel()
		defer time.Sleep(fanoutQuiet) // for what is told twice
		return <-done
	}
}

package limits

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"goblin-actor/bench/load"
	"goblin-actor/bench/process"
	"goblin-actor/bench/report"
	"goblin-actor/bench/server"
)

// Raises are the quantities that can be raised. Quantities other than clients and rate require raw servers. While they
// are raised, a few clients make calls, to find the amount at which these calls become slower.
var Raises = []string{"clients", "rate", "servers", "items", "sessions", "subscribers"}

// ladders holds the amounts to measure for each quantity except clients and rate. Amounts above --max are skipped, except the first.
var ladders = map[string][]int{
	"servers":     {1, 4, 16, 64, 256},
	"items":       {10, 100, 1000, 10_000},
	"sessions":    {1, 100, 1000, 4000},
	"subscribers": {1, 100, 1000, 4000},
}

const (
	raiseClients = 8    // clients that call while something else is raised
	raiseTries   = 5    // tries of the first step, maximum for a later step; the best try counts, because background load only slows calls down
	holds        = 0.8  // fraction of the first step's throughput; below it, the raised quantity slows calls down
	kept         = 0.95 // fraction of an offered rate; below it, the rate is too high
)

// findHeld returns the last step before the first that exceeds the limits or is too slow, or the last of all steps if
// none does. A step with an offered rate is too slow if it does not reach that rate. Any other step is too slow if its
// throughput is well below that of the first step.
func findHeld(steps []report.LimitStep, limit time.Duration) knee {
	for i, s := range steps {
		least := kept * s.Offered
		if s.Offered == 0 {
			least = holds * steps[0].PerSecond
		}
		switch {
		case good(s, limit) && s.PerSecond >= least:
		case good(s, limit):
			return knee{i - 1, "falls"}
		case slow(s, limit):
			return knee{i - 1, "p99"}
		default:
			return knee{i - 1, "errors"}
		}
	}
	return knee{len(steps) - 1, "max"}
}

// climbRates measures one rate after the other in an open loop. The latency of a call is measured from the time when
// the call is due, so that it includes a delay before sending.
func (s *limits) climbRates(c *climb, step time.Duration) error {
	crowd := c.crowd(c.at)
	defer crowd.Leave()
	for i, rate := range s.o.Rates {
		s.o.Progress(float64(i)/float64(len(s.o.Rates)), 1, fmt.Sprintf("%s: %g calls per second", c.title(), rate))
		crowd.Rate = rate
		measured, err := s.step(c, crowd, min(s.o.Max, 128), step)
		if err != nil {
			return err
		}
		measured.Offered = rate
		c.series.Steps = append(c.series.Steps, measured)
	}
	return nil
}

// raise measures calls while the number of servers, items, sessions or subscribers grows.
func (s *limits) raise() error {
	what := s.o.Raise
	series := report.LimitSeries{Server: "h0", Transport: "http", Era: s.o.Eras[0], Raise: what}
	for _, n := range ladders[what] {
		if n > s.o.Max && len(series.Steps) > 0 {
			break
		}
		s.o.Progress(float64(len(series.Steps))/float64(len(ladders[what])), 1, fmt.Sprintf("%d %s", n, what))
		fmt.Fprintf(s.notes, "%s: %d\n", what, n)
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
	explain(&series, Server{Name: series.Server, Local: true}, s.o.P99)
	s.found.Series = append(s.found.Series, series)
	return nil
}

// raised starts servers and a gateway with n of the quantity, measures calls, and stops the processes.
func (s *limits) raised(series *report.LimitSeries, what string, n int) (step report.LimitStep, err error) {
	err = s.Scope(func() error {
		r := &raisedRun{limits: s, what: what, n: n}
		defer r.close()
		if err := r.start(); err != nil {
			return err
		}
		if err := r.openStreams(); err != nil {
			return err
		}
		series.Tool = r.climb.tool.Name
		step, err = r.measure(series)
		return err
	})
	return step, err
}

// raisedRun is the measurement of one step of raise.
type raisedRun struct {
	*limits
	what string
	n    int

	server  *process.RawServer
	gate    *process.Gateway
	streams *load.Audience // sessions or subscribers; no streams if something else is raised
	climb   *climb
}

func (r *raisedRun) close() {
	if r.streams != nil {
		r.streams.Close()
	}
	if r.server != nil {
		r.server.Close()
	}
}

// start starts the raw server and the gateway.
func (r *raisedRun) start() (err error) {
	kind := map[string]string{"legacy": "http", "modern": "http-modern"}[r.o.Eras[0]]
	name, more := "echo", []string(nil)
	if r.what == "items" {
		name, more = "tool_000", []string{"--tools", strconv.Itoa(r.n)}
	}
	if r.server, err = r.NewRawServer(kind, fmt.Sprintf("r%d", r.n), more...); err != nil {
		return err
	}
	servers := map[string]any{"h0": r.server.Entry}
	if r.what == "servers" {
		for i := 1; i < r.n; i++ {
			servers["h"+strconv.Itoa(i)] = map[string]any{"url": fmt.Sprintf("%s/%d", r.server.At.URL, i), "type": "http", "maxConcurrent": 0}
		}
	}
	r.Settings = map[string]any{"limits": map[string]any{"maxSessions": 20_000}}
	if r.gate, err = r.Gateway(servers); err != nil {
		return err
	}
	r.climb = &climb{modern: r.o.Eras[0] == "modern", at: load.NewEndpoint(r.gate.URL, nil), tool: tool{Name: "h0_" + name},
		measured: &watched{gateway: r.gate.PID(), servers: []int{r.server.At.PID()}, metrics: r.gate.URL.Host, server: "h0"}}
	return nil
}

// openStreams opens the sessions or subscriptions, if these are raised.
func (r *raisedRun) openStreams() error {
	uri := ""
	if r.what == "subscribers" {
		uri = "resource://h0/" + server.ItemURI
	}
	r.streams = load.NewAudience(uri)
	if r.what != "subscribers" && r.what != "sessions" {
		return nil
	}
	if err := r.streams.Open(r.ctx, r.gate.Process, r.o.Eras[0], r.n); err != nil {
		return err
	}
	r.Sleep(load.SettleTime)
	r.streams.Reset()
	return nil
}

// measure measures the step up to raiseTries times and returns the best result.
func (r *raisedRun) measure(series *report.LimitSeries) (step report.LimitStep, err error) {
	crowd := r.climb.crowd(r.climb.at)
	defer crowd.Leave()
	stop := func() int { return 0 }
	if r.what == "subscribers" {
		stop = publishing(r.ctx, r.streams, r.server)
	}
	for try := range raiseTries {
		one, failed := r.step(r.climb, crowd, raiseClients, r.o.stepTime(2))
		if err = failed; err != nil {
			break
		}
		one.Raised = r.n
		if try == 0 || one.PerSecond > step.PerSecond && one.Failures() <= step.Failures() {
			step = one
		}
		step.Tries = try + 1
		if try > 0 && len(series.Steps) > 0 && findHeld(append(slices.Clone(series.Steps), step), r.o.P99).ended == "max" {
			break
		}
	}
	step.Lost += stop()
	step.Crossed, step.Doubled = step.Crossed+int(r.streams.Wrong.Load()), int(r.streams.Duplicated.Load())
	return step, err
}

// publishing publishes up to ten changes per second until stop is called. stop returns the number of lost notifications
// and failed commands to publish.
func publishing(ctx context.Context, a *load.Audience, b *process.RawServer) (stop func() (lost int)) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan int)
	go func() {
		lost := 0
		for n := int64(1); ; n++ {
			t, err := a.Publish(context.WithoutCancel(ctx), n, load.DeliveryTimeout, func() error {
				_, err := b.Command("updated %d", n)
				return err
			})
			if lost += t.Lost; err != nil {
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
		defer time.Sleep(load.SettleTime) // for duplicates to arrive
		return <-done
	}
}

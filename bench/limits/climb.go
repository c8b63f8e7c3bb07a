package limits

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"goblin-actor/bench/load"
	"goblin-actor/bench/report"
	"goblin-actor/bench/stats"
)

// climb is a series that is being measured.
type climb struct {
	series   report.LimitSeries
	server   Server
	tool     tool
	modern   bool           // the clients speak 2026-07-28
	at       *load.Endpoint // the endpoint under load
	direct   *load.Endpoint // the server itself; nil = not reachable
	measured *watched
}

// crowd returns a crowd of clients for the endpoint. None of them is connected yet.
func (c *climb) crowd(at *load.Endpoint) *load.Crowd {
	return &load.Crowd{At: at, Tool: c.tool.Name, Args: c.tool.args, Modern: c.modern}
}

func (c *climb) title() string {
	parts := []string{c.series.Server}
	if c.series.Transport != "" {
		parts = append(parts, c.series.Transport)
	}
	return strings.Join(append(parts, c.series.Era+" clients"), ", ")
}

// stepTime returns the duration of a step in a run with the given number of series. A climb has about eleven steps.
func (o Options) stepTime(series int) time.Duration {
	if o.Step > 0 {
		return o.Step
	}
	return min(max(o.Time/time.Duration(11*max(series, 1)), 250*time.Millisecond), 3*time.Second)
}

// climb measures the steps of one series and sets the explanation.
func (s *limits) climb(c *climb, index, series int) error {
	step := s.o.stepTime(series)
	c.series.Raise = "clients"
	run, find := s.climbClients, findKnee
	if len(s.o.Rates) > 0 {
		c.series.Raise, find = "rate", findHeld
		run = func(c *climb, step time.Duration, _, _ int) error { return s.climbRates(c, step) }
	}
	if err := run(c, step, index, series); err != nil {
		return err
	}
	k := find(c.series.Steps, s.o.P99)
	if c.series.Ended == "" || k.ended != "max" {
		c.series.Ended = k.ended
	}
	if k.at >= 0 {
		c.series.Knee = &c.series.Steps[k.at]
	}
	if c.series.Knee != nil && len(s.o.Rates) == 0 {
		if err := s.directly(c, step); err != nil {
			return err
		}
	}
	explain(&c.series, c.server, s.o.P99)
	return nil
}

// climbClients measures increasing numbers of clients in a closed loop.
func (s *limits) climbClients(c *climb, step time.Duration, index, series int) error {
	share := s.o.Time / time.Duration(series)
	crowd := c.crowd(c.at)
	defer crowd.Leave()
	began := time.Now()
	for {
		clients, more := nextClients(c.series.Steps, s.o.P99, s.o.Max)
		if !more {
			clients, more = again(c.series.Steps, s.o.P99)
		}
		if !more {
			return nil
		}
		if used := time.Since(began); used > share+share/2 && len(c.series.Steps) > 0 {
			c.series.Ended = "time"
			return nil
		}
		part := min(float64(time.Since(began))/float64(share), .95)
		s.o.Progress((float64(index)+part)/float64(series), 1, fmt.Sprintf("%s: %d clients", c.title(), clients))
		measured, err := s.step(c, crowd, clients, step)
		if err != nil {
			return err
		}
		c.series.Steps = with(c.series.Steps, measured)
	}
}

// step measures one number of clients. A failed connection is a result of the step, not an error.
func (s *limits) step(c *climb, crowd *load.Crowd, clients int, d time.Duration) (report.LimitStep, error) {
	result := report.LimitStep{Clients: clients, Tries: 1}
	if err := crowd.Grow(s.ctx, clients); err != nil {
		if s.ctx.Err() != nil {
			return result, context.Cause(s.ctx)
		}
		result.Refused = map[string]int{"no connection: " + err.Error(): 1}
		return result, nil
	}
	if _, err := crowd.Run(s.ctx, clients, min(d/5, 300*time.Millisecond)); err != nil { // warm-up
		return result, err
	}
	c.measured.begin()
	r, err := crowd.Run(s.ctx, clients, d)
	if err != nil {
		return result, err
	}
	c.measured.end(&result)
	addCalls(&result, r)
	return result, nil
}

// directly measures the server without the gateway, with one client and with as many clients as at the knee, but at
// most maxConcurrent.
func (s *limits) directly(c *climb, d time.Duration) error {
	if c.direct == nil {
		return nil
	}
	crowd := &load.Crowd{At: c.direct, Tool: c.tool.original, Args: c.tool.args, Modern: c.modern}
	defer crowd.Leave()
	most := c.series.Knee.Clients
	if c.server.MaxConcurrent > 0 {
		most = min(most, c.server.MaxConcurrent)
	}
	for _, clients := range slices.Compact([]int{1, most}) {
		quiet := *c
		quiet.measured = &watched{}
		step, err := s.step(&quiet, crowd, clients, d)
		if err != nil {
			return err
		}
		if step.Failures() > 0 {
			return nil // the server treats direct clients differently, so the step cannot be compared
		}
		c.series.Direct = append(c.series.Direct, step)
	}
	return nil
}

// addCalls adds the results of calls to the step.
func addCalls(s *report.LimitStep, r load.Calls) {
	slices.Sort(r.Latencies)
	s.Calls, s.P50, s.P99 = len(r.Latencies), stats.QuantileMicros(r.Latencies, .5), stats.QuantileMicros(r.Latencies, .99)
	if r.Elapsed > 0 {
		s.PerSecond = float64(s.Calls) / r.Elapsed.Seconds()
	}
	s.Crossed, s.Lost = r.Failed[load.Crossed], r.Failed[load.Lost]
	delete(r.Failed, load.Crossed)
	delete(r.Failed, load.Lost)
	if len(r.Failed) > 0 {
		s.Refused = r.Failed
	}
}

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
)

// LimitOptions say what RunLimits measures: the servers of a configuration, an endpoint, or, with neither, raw servers of its own.
type LimitOptions struct {
	Config  string        // path of a configuration; its servers are measured through a gateway started for the run
	Servers []LimitServer // those of Config that are not disabled, in its order
	Target  *url.URL      // any MCP endpoint
	Headers []string      // "Name: value", sent with every request to Target

	Tool string   // the tool to call, by its public name; "" = one a server that says of it that it only reads
	Args string   // its arguments, a JSON object; "" = none
	Only []string // servers to measure; none = all

	Transports []string // raw servers: http, stdio; default both
	Concurrent []int    // raw servers: maxConcurrent; default 64, the gateway's own
	Eras       []string // of clients: legacy, modern; default both. Raw servers are of the same era, or of the second in legacy-modern

	Raise string        // one of Raises; default clients
	Rates []float64     // calls a second to offer, one step each, in place of clients that wait for their answers
	Max   int           // of what is raised at most; default 1024 clients, of everything else what Raises has
	P99   time.Duration // latency that the 99th percentile must not pass; 0 = none
	Time  time.Duration // measured time of the whole run, about; default 60 s
	Step  time.Duration // of one step; default: what Time leaves, from 250 ms to 3 s

	Program  string // this binary
	Commit   string
	Command  string
	Progress func(done, total float64, what string) // may be nil
}

// LimitServer is what the configuration says of one server.
type LimitServer struct {
	Name          string
	URL           string   // "" = a command, or not to be asked directly
	Headers       []string // for URL
	Stdio         bool
	Local         bool // on this machine
	MaxConcurrent int
	Leased        int // connections at most where each carries one call at a time; 0 = not so
	Replicas      int
	Target        bool // it is an endpoint of anybody's, which is asked itself
}

// gateway is what people are told of who is asked.
func (s LimitServer) gateway() string {
	if s.Target {
		return "target"
	}
	return "gateway"
}

// Limits is what a machine carries: one series for each server and era of clients.
type Limits struct {
	P99    float64       `json:"p99LimitMicros,omitempty"`
	Series []LimitSeries `json:"series"`
	Notes  []string      `json:"notes,omitempty"` // what was left out, and what to do about it
}

// LimitSeries is one climb.
type LimitSeries struct {
	Server        string      `json:"server"`
	Raise         string      `json:"raise"` // one of Raises
	Tool          string      `json:"tool"`
	Transport     string      `json:"transport"` // between gateway and server; "" = not known
	Era           string      `json:"era"`       // of the clients; of raw servers also theirs
	MaxConcurrent int         `json:"maxConcurrent"`
	Steps         []LimitStep `json:"steps"`
	Direct        []LimitStep `json:"direct,omitempty"` // the server without the gateway
	Knee          *LimitStep  `json:"knee,omitempty"`   // the step from which on more clients only wait longer; none = not even the first was good
	Ended         string      `json:"ended"`            // plateau, p99, errors, max, time
	Bottleneck    string      `json:"bottleneck"`       // one word
	Why           string      `json:"why"`
	Change        string      `json:"change,omitempty"` // the key to change, and how
}

// LimitStep is one number of clients. CPU is in cores: seconds of processor time in a second.
type LimitStep struct {
	Clients   int            `json:"clients"`
	Tries     int            `json:"tries"`                      // the best of so many
	Raised    int            `json:"raised,omitempty"`           // how many there were of what the series raises besides clients
	Offered   float64        `json:"offeredPerSecond,omitempty"` // in an open loop
	Calls     int            `json:"calls"`
	PerSecond float64        `json:"callsPerSecond"`
	P50       float64        `json:"p50Micros"`
	P99       float64        `json:"p99Micros"`
	CPU       CPU            `json:"cpuCores"`
	Queued    int            `json:"queued,omitempty"`       // calls that waited in the server's queue, the most seen
	InFlight  int            `json:"inFlight,omitempty"`     // calls that were with the server, the most seen
	Waited    float64        `json:"queueMicros,omitempty"`  // of a call in that queue, mean
	Served    float64        `json:"serverMicros,omitempty"` // of a call in the gateway and at the server, mean, without the queue
	RSS       float64        `json:"rssMiB,omitempty"`       // of the gateway
	Crossed   int            `json:"crossed"`                // answers to somebody else's request
	Lost      int            `json:"lost"`                   // requests without an answer
	Doubled   int            `json:"doubled,omitempty"`      // changes that a stream was told again
	Refused   map[string]int `json:"refused,omitempty"`      // answers that are errors, by name
}

// CPU is how many cores were busy with whom.
type CPU struct {
	Load    float64 `json:"load"`    // the load generator
	Gateway float64 `json:"gateway"` // or the target, where it runs on this machine
	Servers float64 `json:"servers"` // all of them
	Busiest float64 `json:"busiestServer"`
	Other   float64 `json:"other"` // everything else on the machine
	Cores   float64 `json:"cores"` // there are
}

// failures are the calls that brought no result.
func (s LimitStep) failures() int {
	n := s.Crossed + s.Lost
	for _, refused := range s.Refused {
		n += refused
	}
	return n
}

// Default fills in what was left zero.
func (o LimitOptions) Default() LimitOptions {
	if len(o.Transports) == 0 {
		o.Transports = []string{"http", "stdio"}
	}
	if len(o.Concurrent) == 0 {
		o.Concurrent = []int{64}
	}
	if len(o.Eras) == 0 {
		o.Eras = []string{"legacy", "modern"}
	}
	if o.Raise == "" {
		o.Raise = "clients"
	}
	if o.Max == 0 {
		o.Max = 1024
		if o.Raise != "clients" {
			o.Max = 10_000
		}
	}
	if o.Time == 0 {
		o.Time = 60 * time.Second
	}
	if o.Progress == nil {
		o.Progress = func(float64, float64, string) {}
	}
	return o
}

// Validate returns all faults at once.
func (o LimitOptions) Validate() error {
	var faults []error
	own := o.Config == "" && o.Target == nil
	for _, era := range o.Eras {
		client, server, crossing := strings.Cut(era, "-")
		known := func(e string) bool { return e == "legacy" || e == "modern" }
		if !known(client) || crossing && (!known(server) || !own) {
			faults = append(faults, fmt.Errorf("era: got %q, want legacy or modern, and for raw servers also legacy-modern or modern-legacy", era))
		}
	}
	for _, transport := range o.Transports {
		if transport != "http" && transport != "stdio" {
			faults = append(faults, fmt.Errorf("transport: got %q, want http or stdio", transport))
		}
	}
	for _, n := range o.Concurrent {
		if n < 0 || n > 1_000_000 {
			faults = append(faults, fmt.Errorf("max-concurrent: got %d, want 0 (no limit) to 1000000", n))
		}
	}
	if o.Max < 0 || o.Max > 10_000 {
		faults = append(faults, fmt.Errorf("max: got %d, want 1 to 10000", o.Max))
	}
	switch {
	case o.Raise != "" && !slices.Contains(Raises, o.Raise):
		faults = append(faults, fmt.Errorf("raise: got %q, want one of %s", o.Raise, strings.Join(Raises, ", ")))
	case (o.Raise == "rate") != (len(o.Rates) > 0):
		faults = append(faults, errors.New("rate: want the calls a second to offer, as in --rate 100,500,1000"))
	case ladders[o.Raise] != nil && !own:
		faults = append(faults, fmt.Errorf("raise: %s are raised around raw servers only", o.Raise))
	}
	for i, rate := range o.Rates {
		if rate <= 0 || rate > 1e6 || i > 0 && rate <= o.Rates[i-1] {
			faults = append(faults, fmt.Errorf("rate: got %g, want rates above 0, at most 1000000, each above the one before it", rate))
		}
	}
	if o.P99 < 0 || o.Time < 0 || o.Step < 0 {
		faults = append(faults, errors.New("p99, time and step: want no less than 0"))
	}
	if o.Args != "" && o.Tool == "" {
		faults = append(faults, errors.New("args: there is no tool they are for"))
	}
	if own && (o.Tool != "" || len(o.Only) > 0) {
		faults = append(faults, errors.New("tool, server: there is neither a configuration nor a target they could be of"))
	}
	for _, header := range o.Headers {
		if name, _, ok := strings.Cut(header, ":"); !ok || strings.TrimSpace(name) == "" || strings.ContainsAny(header, "\r\n") {
			faults = append(faults, errors.New("header: want Name: value")) // its value may be a secret
		}
	}
	return errors.Join(faults...)
}

// RunLimits raises clients until more of them bring nothing, for each server and era, and returns what it found. Blocks until
// done or ctx ends; all processes it started have ended then. What it is going to call is told on notes, one line each.
func RunLimits(ctx context.Context, o LimitOptions, notes io.Writer) (*Report, error) {
	o = o.Default()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "ga")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s := &limits{o: o, setup: &setup{o: Options{Program: o.Program}.Default(), ctx: ctx, dir: dir, progress: notes},
		found: &Limits{P99: float64(o.P99.Microseconds())}}
	defer s.stop()
	report := newReport(Options{Kind: "limits", Commit: o.Commit, Command: o.Command})
	report.Limits = s.found
	if ladders[o.Raise] != nil {
		return report, s.raise()
	}
	climbs, err := s.climbs()
	if err != nil {
		return nil, err
	}
	for i, c := range climbs {
		fmt.Fprintf(notes, "%s: calls %s\n", c.title(), c.tool.Name)
		if err := s.climb(c, i, len(climbs)); err != nil {
			return nil, err
		}
		s.found.Series = append(s.found.Series, c.series)
	}
	return report, nil
}

// limits is one run.
type limits struct {
	*setup
	o     LimitOptions
	found *Limits
}

// climb is one series on its way.
type climb struct {
	series   LimitSeries
	server   LimitServer
	tool     tool
	modern   bool  // the clients are of 2026-07-28
	at       *peer // where calls go
	direct   *peer // the server itself; nil = not to be reached
	measured *watched
}

func (c *climb) title() string {
	parts := []string{c.series.Server}
	if c.series.Transport != "" {
		parts = append(parts, c.series.Transport)
	}
	return strings.Join(append(parts, c.series.Era+" clients"), ", ")
}

// stepTime is how long a step of one of n series takes. A climb has about eleven.
func (o LimitOptions) stepTime(series int) time.Duration {
	if o.Step > 0 {
		return o.Step
	}
	return min(max(o.Time/time.Duration(11*max(series, 1)), 250*time.Millisecond), 3*time.Second)
}

// climb runs the steps of one series, and says what they mean.
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
	c.series.explain(c.server, s.o.P99)
	return nil
}

// climbClients takes steps of more and more clients: a closed loop.
func (s *limits) climbClients(c *climb, step time.Duration, index, series int) error {
	share := s.o.Time / time.Duration(series)
	load := &crowd{at: c.at, tool: c.tool, modern: c.modern}
	defer load.leave()
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
		measured, err := s.step(c, load, clients, step)
		if err != nil {
			return err
		}
		c.series.Steps = with(c.series.Steps, measured)
	}
}

// step measures one number of clients. That some cannot connect is part of what is measured.
func (s *limits) step(c *climb, load *crowd, clients int, d time.Duration) (LimitStep, error) {
	result := LimitStep{Clients: clients, Tries: 1}
	if err := load.grow(s.ctx, clients); err != nil {
		if s.ctx.Err() != nil {
			return result, context.Cause(s.ctx)
		}
		result.Refused = map[string]int{"no connection: " + err.Error(): 1}
		return result, nil
	}
	if _, err := load.run(s.ctx, clients, min(d/5, 300*time.Millisecond)); err != nil { // warm-up
		return result, err
	}
	c.measured.begin()
	r, err := load.run(s.ctx, clients, d)
	if err != nil {
		return result, err
	}
	c.measured.end(&result)
	result.add(r)
	return result, nil
}

// directly asks the server itself, at one client and at those of the knee, but never more calls at once than its configuration lets it have.
func (s *limits) directly(c *climb, d time.Duration) error {
	if c.direct == nil {
		return nil
	}
	load := &crowd{at: c.direct, tool: tool{Name: c.tool.original, args: c.tool.args}, modern: c.modern}
	defer load.leave()
	most := c.series.Knee.Clients
	if c.server.MaxConcurrent > 0 {
		most = min(most, c.server.MaxConcurrent)
	}
	for _, clients := range slices.Compact([]int{1, most}) {
		quiet := *c
		quiet.measured = &watched{}
		step, err := s.step(&quiet, load, clients, d)
		if err != nil {
			return err
		}
		if step.failures() > 0 {
			return nil // it does not talk to us as it does to the gateway, so it tells nothing
		}
		c.series.Direct = append(c.series.Direct, step)
	}
	return nil
}

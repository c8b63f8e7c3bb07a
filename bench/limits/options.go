package limits

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Options selects what Run measures: the servers of a configuration, an endpoint, or if neither is set, raw servers
// that Run starts.
type Options struct {
	Config  string   // path of a configuration, whose servers are measured through a gateway started for the run
	Servers []Server // the enabled servers of Config, in its order
	Target  *url.URL // any MCP endpoint
	Headers []string // "Name: value", sent with every request to Target

	Tool string   // public name of the tool to call; "" = a safe one (see tool.safe)
	Args string   // arguments of Tool as a JSON object; "" = none
	Only []string // servers to measure; empty = all

	Transports []string // transports of raw servers: http, stdio; default both
	Concurrent []int    // values of maxConcurrent for raw servers; default 64, the gateway's default
	Eras       []string // legacy or modern clients with raw servers of the same era, or a mix such as legacy-modern; default legacy and modern

	Raise string        // what to raise, one of Raises; default clients
	Rates []float64     // open loop: calls per second, one step each
	Max   int           // upper limit of the raised quantity, but for rate of the number of clients (at most 128); default 1024 for clients, 10000 for others
	P99   time.Duration // limit for the p99 latency; 0 = none
	Time  time.Duration // approximate time of the whole run; default 60 s
	Step  time.Duration // duration of one step; default depends on Time, from 250 ms to 3 s

	Program  string // this binary
	Commit   string
	Command  string
	Progress func(done, total float64, what string) // may be nil
}

// Server describes one server of the configuration.
type Server struct {
	Name          string
	URL           string   // "" = a command, or a server that is not called directly
	Headers       []string // for URL
	Stdio         bool
	Local         bool // runs on this machine
	MaxConcurrent int
	Leased        int // maximum number of leased connections, with one call at a time each; 0 = connections are not leased
	Replicas      int
	Target        bool // an endpoint that is measured without a gateway
}

// gateway returns the word for what is between the load and the servers: gateway or target.
func (s Server) gateway() string {
	if s.Target {
		return "target"
	}
	return "gateway"
}

// Default returns o with zero fields replaced by their defaults.
func (o Options) Default() Options {
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

// Validate returns all errors at once.
func (o Options) Validate() error {
	var faults []error
	own := o.Config == "" && o.Target == nil
	for _, era := range o.Eras {
		client, server, crossing := strings.Cut(era, "-")
		known := func(e string) bool { return e == "legacy" || e == "modern" }
		if !known(client) || crossing && (!known(server) || !own) {
			faults = append(faults, fmt.Errorf("era: got %q, expected legacy or modern, or for raw servers also legacy-modern or modern-legacy", era))
		}
	}
	for _, transport := range o.Transports {
		if transport != "http" && transport != "stdio" {
			faults = append(faults, fmt.Errorf("transport: got %q, expected http or stdio", transport))
		}
	}
	for _, n := range o.Concurrent {
		if n < 0 || n > 1_000_000 {
			faults = append(faults, fmt.Errorf("max-concurrent: got %d, expected 0 (no limit) to 1000000", n))
		}
	}
	if o.Max < 0 || o.Max > 10_000 {
		faults = append(faults, fmt.Errorf("max: got %d, expected 1 to 10000", o.Max))
	}
	switch {
	case o.Raise != "" && !slices.Contains(Raises, o.Raise):
		faults = append(faults, fmt.Errorf("raise: got %q, expected one of %s", o.Raise, strings.Join(Raises, ", ")))
	case (o.Raise == "rate") != (len(o.Rates) > 0):
		faults = append(faults, errors.New("rate: --raise rate needs calls per second, such as --rate 100,500,1000; other quantities do not use --rate"))
	case ladders[o.Raise] != nil && !own:
		faults = append(faults, fmt.Errorf("raise: %s can only be raised with raw servers", o.Raise))
	}
	for i, rate := range o.Rates {
		if rate <= 0 || rate > 1e6 || i > 0 && rate <= o.Rates[i-1] {
			faults = append(faults, fmt.Errorf("rate: got %g, expected increasing rates above 0, up to 1000000", rate))
		}
	}
	if o.P99 < 0 || o.Time < 0 || o.Step < 0 {
		faults = append(faults, errors.New("p99, time and step: expected values of at least 0"))
	}
	if o.Args != "" && o.Tool == "" {
		faults = append(faults, errors.New("args: a tool is required"))
	}
	if own && (o.Tool != "" || len(o.Only) > 0) {
		faults = append(faults, errors.New("tool, server: a configuration or a target is required"))
	}
	for _, header := range o.Headers {
		if name, _, ok := strings.Cut(header, ":"); !ok || strings.TrimSpace(name) == "" || strings.ContainsAny(header, "\r\n") {
			faults = append(faults, errors.New("header: expected Name: value")) // without the value, which may be a secret
		}
	}
	return errors.Join(faults...)
}

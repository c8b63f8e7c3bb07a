package limits

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Options say what Run measures: the servers of a configuration, an endpoint, or, with neither, raw servers of its own.
type Options struct {
	Config  string   // path of a configuration; its servers are measured through a gateway started for the run
	Servers []Server // those of Config that are not disabled, in its order
	Target  *url.URL // any MCP endpoint
	Headers []string // "Name: value", sent with every request to Target

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

// Server is what the configuration says of one server.
type Server struct {
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
func (s Server) gateway() string {
	if s.Target {
		return "target"
	}
	return "gateway"
}

// Default fills in what was left zero.
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

// Validate returns all faults at once.
func (o Options) Validate() error {
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

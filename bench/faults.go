package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"goblin-actor/bench/load"
	"goblin-actor/bench/process"
	"goblin-actor/bench/report"
	"goblin-actor/bench/stats"
)

// FaultKinds are the faults that RunFaults can cause in a server or as a client.
var FaultKinds = []string{"kill", "hang", "slow", "leave", "flood"}

// FaultsOptions configures RunFaults. Default completes them.
type FaultsOptions struct {
	What    []string      // elements of FaultKinds; default all
	Behind  []string      // kinds of the faulty server, elements of process.ServerKinds; default http and stdio
	Clients string        // one of process.Eras; default legacy
	Calm    time.Duration // undisturbed time before each fault, for comparison; default 2 s
	Lasts   time.Duration // how long a fault other than kill lasts; default 2 s
	Readers int           // slow: clients that request 1 MiB without reading it; default 64
	Program string        // this binary
	Commit  string        // for the report
	Command string        // for the report

	ready time.Duration // kill: how long a server must have been ready before the process is killed; default readyFor
}

// Default returns o with zero fields replaced by their defaults.
func (o FaultsOptions) Default() FaultsOptions {
	if len(o.What) == 0 {
		o.What = FaultKinds
	}
	if len(o.Behind) == 0 {
		o.Behind = []string{"http", "stdio"}
	}
	if o.Clients == "" {
		o.Clients = process.Eras[0]
	}
	if o.Calm == 0 {
		o.Calm = 2 * time.Second
	}
	if o.Lasts == 0 {
		o.Lasts = 2 * time.Second
	}
	if o.Readers == 0 {
		o.Readers = 64
	}
	if o.ready == 0 {
		o.ready = readyFor
	}
	return o
}

// Validate returns all errors at once.
func (o FaultsOptions) Validate() error {
	faults := []error{allOf("faults", o.What, FaultKinds), allOf("behind", o.Behind, process.ServerKinds), allOf("clients", []string{o.Clients}, process.Eras)}
	if o.Calm < 0 || o.Calm > time.Minute || o.Lasts < 0 || o.Lasts > time.Minute {
		faults = append(faults, errors.New("calm and lasts: expected 0 to 1m each"))
	}
	if o.Readers < 0 || o.Readers > 5000 {
		faults = append(faults, fmt.Errorf("readers: got %d, expected 1 to 5000", o.Readers))
	}
	return errors.Join(faults...)
}

// RunFaults measures faults and returns the report. It blocks until it is done or ctx ends, and stops all processes it
// started.
func RunFaults(ctx context.Context, o FaultsOptions, progress io.Writer) (*report.Report, error) {
	o = o.Default()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	base := Options{Kind: "faults", Program: o.Program, Commit: o.Commit, Command: o.Command, Servers: 1, Tools: 1}
	return runIn(ctx, base, progress, func(s *setup, result *report.Report) error {
		result.Faults = &report.Faults{}
		for _, kind := range o.Behind {
			for _, what := range o.What {
				fmt.Fprintf(progress, "bench faults: %s, server kind %s\n", what, kind)
				f := &faultRun{setup: s, o: o, name: fmt.Sprintf("v%d", len(result.Faults.Rows)), row: report.FaultRow{Fault: what, Behind: kind, Clients: o.Clients, Error: -1, Back: -1}}
				if err := s.Scope(f.run); err != nil { // each row has its own processes
					return fmt.Errorf("%s of %s: %w", what, kind, err)
				}
				if f.row.Note != "" {
					fmt.Fprintf(progress, "bench faults: %s\n", f.row.Note)
				}
				result.Faults.Rows = append(result.Faults.Rows, f.row)
			}
		}
		return nil
	})
}

const (
	faultTimeout = time.Second // timeout of the server's calls: the longest time that a hanging server can delay a caller
	faultWindow  = time.Second // minimum time to observe the clients of the other server
	faultWait    = 30 * time.Second
	victims      = 4 // clients of the faulty server
	others       = 4 // clients of the other server
	callEvery    = 4 * time.Millisecond
)

// faultRun is the measurement of one fault. It has its own gateway, with the faulty server and one other server.
type faultRun struct {
	*setup
	o    FaultsOptions
	name string
	row  report.FaultRow

	g      *process.Gateway
	ready  time.Time // when the gateway became ready, approximately
	server *process.RawServer
	began  time.Duration
	peak   int64 // bytes of resident memory
}

func (f *faultRun) run() error {
	var err error
	if f.server, err = f.NewRawServer(f.row.Behind, f.name); err != nil {
		return err
	}
	defer f.server.Close()
	other, err := f.NewRawServer("http", "o"+f.name)
	if err != nil {
		return err
	}
	f.server.Entry["timeout"] = faultTimeout.String()
	if f.g, err = f.Gateway(map[string]any{f.name: f.server.Entry, other.Name: other.Entry}); err != nil {
		return err
	}
	f.ready = time.Now()
	calm, err := load.Watch(f.ctx, f.g.Process, f.o.Clients, other.Name+"_echo", others, callEvery)
	if err != nil {
		return err
	}
	defer calm.Close()
	hurt, err := load.Watch(f.ctx, f.g.Process, f.o.Clients, f.name+"_echo", victims, callEvery)
	if err != nil {
		return err
	}
	defer hurt.Close()
	f.Sleep(f.o.Calm)
	before := f.g.Usage().RSS
	f.began, f.peak = load.Now(), before // kill, hang and flood set began again when their fault begins
	f.row.Calm = calm.P99(f.began-f.o.Calm, f.began)
	if err := f.do(hurt); err != nil {
		return err
	}
	f.Sleep(max(faultWindow-(load.Now()-f.began), 0))
	f.sample()
	f.row.During = calm.P99(f.began, load.Now())
	f.row.Held = float64(f.peak-before) / (1 << 20)
	hurt.Close()
	calm.Close()
	after, err := f.g.Memory()
	if err != nil {
		return err
	}
	f.row.Left = after.RSS - float64(before)/(1<<20)
	for _, w := range []*load.Probes{hurt, calm} {
		f.row.Errors += w.ErrorsSince(f.began)
		f.row.Lost += w.Lost
		f.row.Wrong += w.Wrong
		if w.Err != nil {
			return w.Err
		}
		if w.FirstWrong != "" {
			f.row.Note = strings.TrimPrefix(f.row.Note+"; a wrong response: "+w.FirstWrong, "; ")
		}
	}
	return f.ctx.Err()
}

// sample records the gateway's memory if it is a new maximum.
func (f *faultRun) sample() { f.peak = max(f.peak, f.g.Usage().RSS) }

// until waits for a condition, at most faultWait, and reports whether it was met.
func (f *faultRun) until(happened func() bool) bool {
	for end := time.Now().Add(faultWait); time.Now().Before(end) && f.ctx.Err() == nil; f.Sleep(time.Millisecond) {
		if happened() {
			return true
		}
	}
	return false
}

// recovers waits for recovery, at most faultWait. It records the first error since the fault began, if there is one. It
// also records the first success after end, the time at which the fault ends, and after that error.
func (f *faultRun) recovers(hurt *load.Probes, end time.Duration) {
	f.until(func() bool {
		f.sample()
		from := end
		if at, failed := hurt.FirstError(f.began); failed {
			f.row.Error = stats.Millis(at - f.began)
			from = max(from, at)
		} else if load.Now() < end+faultWindow { // an error may still follow
			return false
		}
		at, back := hurt.FirstSuccess(from)
		if back {
			f.row.Back = stats.Millis(at - end)
		}
		return back
	})
}

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// FaultKinds are the faults that RunFaults can inject into a server, or cause as a client.
var FaultKinds = []string{"kill", "hang", "slow", "leave", "flood"}

// FaultsOptions configures RunFaults. Default completes them.
type FaultsOptions struct {
	What    []string      // of FaultKinds; default all
	Behind  []string      // of ServerKinds, the faulty server; default http and stdio
	Clients string        // one of Eras; default legacy
	Calm    time.Duration // undisturbed time before each fault, for comparison; default 2 s
	Lasts   time.Duration // how long the server hangs or floods; default 2 s
	Readers int           // slow: clients that request 1 MiB without reading it; default 64
	Program string        // this binary
	Commit  string        // for the report
	Command string        // for the report

	ready time.Duration // kill: how long a server must have been ready before; default readyFor
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
		o.Clients = Eras[0]
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
	faults := []error{allOf("faults", o.What, FaultKinds), allOf("behind", o.Behind, ServerKinds), allOf("clients", []string{o.Clients}, Eras)}
	if o.Calm < 0 || o.Calm > time.Minute || o.Lasts < 0 || o.Lasts > time.Minute {
		faults = append(faults, errors.New("calm and lasts: expected at most one minute each"))
	}
	if o.Readers < 0 || o.Readers > 5000 {
		faults = append(faults, fmt.Errorf("readers: got %d, expected at most 5000", o.Readers))
	}
	return errors.Join(faults...)
}

// Faults measures what clients experience when something breaks.
type Faults struct {
	Rows []FaultRow `json:"rows"`
}

// FaultRow is one fault of one server. Times are in milliseconds; -1 = it did not occur.
type FaultRow struct {
	Fault   string  `json:"fault"`
	Behind  string  `json:"behind"`
	Clients string  `json:"clients"`
	Error   float64 `json:"firstErrorMillis"`   // from the fault to the first error of a call
	Back    float64 `json:"firstSuccessMillis"` // from the end of the fault to the first success of a call sent after the end and after the first error; flood: to the last list
	Calm    float64 `json:"othersCalmP99Millis"`
	During  float64 `json:"othersP99Millis"` // p99 of calls to another server, from the fault until everything has recovered
	Held    float64 `json:"heldMiB"`         // peak resident memory above the value before
	Left    float64 `json:"leftMiB"`         // resident memory above the value before, after recovery and a garbage collection
	Errors  int     `json:"errors"`          // error responses from the gateway: each of these requests was answered
	Lost    int     `json:"lost"`            // requests without any response
	Wrong   int     `json:"wrong"`           // responses to another request, or with other bytes
	Note    string  `json:"note,omitempty"`
}

// Failures returns the number of requests with no response or a wrong one.
func (f *Faults) Failures() (n int) {
	for _, r := range f.Rows {
		n += r.Lost + r.Wrong
	}
	return n
}

func (f *Faults) table() [][]string {
	rows := [][]string{{"fault, server", "error ms", "back ms", "p99 ms", "× calm", "+MiB", "left", "lost", "wrong"}}
	for _, r := range f.Rows {
		rows = append(rows, []string{r.Fault + ", " + r.Behind, happened(r.Error), happened(r.Back), number("%.2f", r.During), number("%.1f", r.During/max(r.Calm, .001)),
			number("%.1f", r.Held), number("%.1f", r.Left), fmt.Sprint(r.Lost), fmt.Sprint(r.Wrong)})
	}
	return rows
}

func happened(millis float64) string {
	if millis < 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f", millis)
}

// RunFaults measures faults and returns the report. It blocks until it is done or ctx ends, and stops all processes it started.
func RunFaults(ctx context.Context, o FaultsOptions, progress io.Writer) (*Report, error) {
	o = o.Default()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	base := Options{Kind: "faults", Program: o.Program, Commit: o.Commit, Command: o.Command, Servers: 1, Tools: 1}
	return runIn(ctx, base, progress, func(s *setup, report *Report) error {
		report.Faults = &Faults{}
		for _, kind := range o.Behind {
			for _, what := range o.What {
				fmt.Fprintf(progress, "bench faults: %s, server kind %s\n", what, kind)
				f := &faultRun{setup: s, o: o, name: fmt.Sprintf("v%d", len(report.Faults.Rows)), row: FaultRow{Fault: what, Behind: kind, Clients: o.Clients, Error: -1, Back: -1}}
				if err := f.run(); err != nil {
					return fmt.Errorf("%s of %s: %w", what, kind, err)
				}
				if f.row.Note != "" {
					fmt.Fprintf(progress, "bench faults: %s\n", f.row.Note)
				}
				report.Faults.Rows = append(report.Faults.Rows, f.row)
			}
		}
		return nil
	})
}

const (
	faultTimeout = time.Second // of the server's calls: the longest time a hanging server can delay a caller
	faultWindow  = time.Second // minimum time to watch the other server's clients
	faultWait    = 30 * time.Second
	victims      = 4 // clients of the faulty server
	others       = 4 // clients of the other server
	callEvery    = 4 * time.Millisecond
)

// faultRun is one fault: a gateway of its own, with the faulty server and another one.
type faultRun struct {
	*setup
	o    FaultsOptions
	name string
	row  FaultRow

	g      *gateway
	ready  time.Time // when the gateway became ready, approximately
	server *behind
	began  time.Duration
	peak   int64 // bytes of resident memory
}

func (f *faultRun) run() error {
	processes := len(f.running)
	defer func() { // each row has its own processes; the last one started stops first
		for n := len(f.running) - 1; n >= processes; n-- {
			f.running[n].stop()
		}
		f.running = f.running[:processes]
	}()
	var err error
	if f.server, err = f.newBehind(f.row.Behind, f.name); err != nil {
		return err
	}
	defer f.server.close()
	other, err := f.newBehind("http", "o"+f.name)
	if err != nil {
		return err
	}
	f.server.entry["timeout"] = faultTimeout.String()
	if f.g, err = f.gateway(map[string]any{f.name: f.server.entry, other.name: other.entry}); err != nil {
		return err
	}
	f.ready = time.Now()
	calm, err := f.watch(f.g.process, f.o.Clients, other.name+"_echo", others, callEvery)
	if err != nil {
		return err
	}
	defer calm.close()
	hurt, err := f.watch(f.g.process, f.o.Clients, f.name+"_echo", victims, callEvery)
	if err != nil {
		return err
	}
	defer hurt.close()
	f.pause(f.o.Calm)
	before := f.g.usage().rss
	f.began, f.peak = time.Since(epoch), before // do sets it again if it has to wait first
	f.row.Calm = calm.p99(f.began-f.o.Calm, f.began)
	if err := f.do(hurt); err != nil {
		return err
	}
	f.pause(max(faultWindow-(time.Since(epoch)-f.began), 0))
	f.sample()
	f.row.During = calm.p99(f.began, time.Since(epoch))
	f.row.Held = float64(f.peak-before) / (1 << 20)
	hurt.close()
	calm.close()
	after, err := f.g.memory("after")
	if err != nil {
		return err
	}
	f.row.Left = after.RSS - float64(before)/(1<<20)
	for _, w := range []*witnesses{hurt, calm} {
		f.row.Errors += w.errorsSince(f.began)
		f.row.Lost += w.lost
		f.row.Wrong += w.wrong
		if w.odd != nil {
			return w.odd
		}
		if w.first != "" {
			f.row.Note = strings.TrimPrefix(f.row.Note+"; a wrong response: "+w.first, "; ")
		}
	}
	return f.ctx.Err()
}

// sample records the gateway's memory if it is a new maximum.
func (f *faultRun) sample() { f.peak = max(f.peak, f.g.usage().rss) }

// until waits for a condition, at most faultWait, and reports whether it was met.
func (f *faultRun) until(happened func() bool) bool {
	for end := time.Now().Add(faultWait); time.Now().Before(end) && f.ctx.Err() == nil; f.pause(time.Millisecond) {
		if happened() {
			return true
		}
	}
	return false
}

// recovers records the first error after the fault, and the first success after that error and after end, the end of the fault.
func (f *faultRun) recovers(hurt *witnesses, end time.Duration) {
	f.until(func() bool {
		f.sample()
		from := end
		if at, failed := hurt.firstError(f.began); failed {
			f.row.Error = millis(at - f.began)
			from = max(from, at)
		} else if time.Since(epoch) < end+faultWindow { // an error may still follow
			return false
		}
		at, back := hurt.firstSuccess(from)
		if back {
			f.row.Back = millis(at - end)
		}
		return back
	})
}

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// FaultKinds are what Faults can do to a server, or a client to the gateway.
var FaultKinds = []string{"kill", "hang", "slow", "leave", "flood"}

// FaultsOptions say what Faults measures. Default completes them.
type FaultsOptions struct {
	What    []string      // of FaultKinds; default all
	Behind  []string      // of ServerKinds, what it is done to; default http and stdio
	Clients string        // one of Eras; default legacy
	Calm    time.Duration // before each fault, for comparison; default 2 s
	Lasts   time.Duration // how long the server hangs or floods; default 2 s
	Readers int           // slow: clients that ask for 1 MiB and do not read it; default 64
	Program string        // this binary
	Commit  string        // for the report
	Command string        // for the report

	ready time.Duration // kill: so long a server must have been good; default readyFor
}

// Default fills in what was left zero.
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

// Validate returns all faults at once.
func (o FaultsOptions) Validate() error {
	faults := []error{allOf("faults", o.What, FaultKinds), allOf("behind", o.Behind, ServerKinds), allOf("clients", []string{o.Clients}, Eras)}
	if o.Calm < 0 || o.Calm > time.Minute || o.Lasts < 0 || o.Lasts > time.Minute {
		faults = append(faults, errors.New("calm and lasts: want a minute each at most"))
	}
	if o.Readers < 0 || o.Readers > 5000 {
		faults = append(faults, fmt.Errorf("readers: got %d, want at most 5000", o.Readers))
	}
	return errors.Join(faults...)
}

// Faults is what happens to callers when something breaks.
type Faults struct {
	Rows []FaultRow `json:"rows"`
}

// FaultRow is one fault of one server. Times are in milliseconds; -1 = it did not happen.
type FaultRow struct {
	Fault   string  `json:"fault"`
	Behind  string  `json:"behind"`
	Clients string  `json:"clients"`
	Error   float64 `json:"firstErrorMillis"`   // from the fault until a call had an error
	Back    float64 `json:"firstSuccessMillis"` // from the fault's end until a call sent after it and the first error went well; flood: until the last list was listed
	Calm    float64 `json:"othersCalmP99Millis"`
	During  float64 `json:"othersP99Millis"` // p99 of calls to another server, from the fault until all was well again
	Held    float64 `json:"heldMiB"`         // resident memory at its largest, above what it was before
	Left    float64 `json:"leftMiB"`         // likewise when all is over and garbage has been collected
	Errors  int     `json:"errors"`          // answers that were errors of the gateway: nobody is left without one
	Lost    int     `json:"lost"`            // requests without any answer
	Wrong   int     `json:"wrong"`           // answers to another request, or with other bytes
	Note    string  `json:"note,omitempty"`
}

// Failures is how many requests had no answer, or a wrong one.
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

// RunFaults measures faults and returns the report. Blocks until done or ctx ends; all processes it started have ended then.
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
				fmt.Fprintf(progress, "bench faults: %s of a server of kind %s\n", what, kind)
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
	faultTimeout = time.Second // of the server's calls: so long a server that hangs can keep a caller waiting
	faultWindow  = time.Second // others are watched for so long at least
	faultWait    = 30 * time.Second
	victims      = 4 // clients of the server
	others       = 4 // and of the other server
	callEvery    = 4 * time.Millisecond
)

// faultRun is one fault: a gateway of its own over the server it is done to and another one.
type faultRun struct {
	*setup
	o    FaultsOptions
	name string
	row  FaultRow

	g      *gateway
	ready  time.Time // of the gateway, about
	server *behind
	began  time.Duration
	peak   int64 // resident bytes
}

func (f *faultRun) run() error {
	processes := len(f.running)
	defer func() { // each row has its own processes; the last one started goes first
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
	f.began, f.peak = time.Since(epoch), before // do sets it anew when it has to wait first
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
			f.row.Note = strings.TrimPrefix(f.row.Note+"; a wrong answer: "+w.first, "; ")
		}
	}
	return f.ctx.Err()
}

// sample notes how much memory the gateway has now, if it never had more.
func (f *faultRun) sample() { f.peak = max(f.peak, f.g.usage().rss) }

// until waits until something has happened, for faultWait at most, and reports whether it has.
func (f *faultRun) until(happened func() bool) bool {
	for end := time.Now().Add(faultWait); time.Now().Before(end) && f.ctx.Err() == nil; f.pause(time.Millisecond) {
		if happened() {
			return true
		}
	}
	return false
}

// recovers notes the first error after the fault and the first success after that and after end, when the fault was over.
func (f *faultRun) recovers(hurt *witnesses, end time.Duration) {
	f.until(func() bool {
		f.sample()
		from := end
		if at, failed := hurt.firstError(f.began); failed {
			f.row.Error = millis(at - f.began)
			from = max(from, at)
		} else if time.Since(epoch) < end+faultWindow { // an error may still come
			return false
		}
		at, back := hurt.firstSuccess(from)
		if back {
			f.row.Back = millis(at - end)
		}
		return back
	})
}

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// FanoutOptions configures RunFanout. Default completes them.
type FanoutOptions struct {
	Subscribers []int    // concurrent streams, one measurement each; default 100, 1000
	Changes     int      // published one after the other to each target; default 100
	Clients     []string // of Eras; default both
	Behind      []string // of ServerKinds; default http and stdio
	What        []string // of FanoutChanges; default updated
	Program     string   // this binary
	Commit      string   // for the report
	Command     string   // for the report
}

// FanoutChanges are the kinds of notifications: a subscribed resource has changed, or the list of tools has.
var FanoutChanges = []string{"updated", "list"}

// Default returns o with zero fields replaced by their defaults.
func (o FanoutOptions) Default() FanoutOptions {
	if len(o.Subscribers) == 0 {
		o.Subscribers = []int{100, 1000}
	}
	if o.Changes == 0 {
		o.Changes = 100
	}
	if len(o.Clients) == 0 {
		o.Clients = Eras
	}
	if len(o.Behind) == 0 {
		o.Behind = []string{"http", "stdio"}
	}
	if len(o.What) == 0 {
		o.What = FanoutChanges[:1]
	}
	return o
}

// Validate returns all errors at once.
func (o FanoutOptions) Validate() error {
	faults := []error{allOf("clients", o.Clients, Eras), allOf("behind", o.Behind, ServerKinds), allOf("change", o.What, FanoutChanges)}
	for _, n := range o.Subscribers {
		if n < 1 || n > 9000 { // each needs up to two connections, of usually 20 000 per process
			faults = append(faults, fmt.Errorf("subscribers: got %d, expected 1 to 9000", n))
		}
	}
	if o.Changes < 1 || o.Changes > 100_000 {
		faults = append(faults, fmt.Errorf("changes: got %d, expected 1 to 100000", o.Changes))
	}
	return errors.Join(faults...)
}

// Fanout measures how long changes that a server publishes take to reach all subscribers.
type Fanout struct {
	Rows []FanoutRow `json:"rows"`
}

// FanoutRow is one number of streams of one era at one server. Times are in milliseconds from the command to publish until the last
// stream has received the change. Direct is the same for a server that writes to as many streams itself.
type FanoutRow struct {
	Change      string  `json:"change"`
	Clients     string  `json:"clients"`
	Behind      string  `json:"behind"`
	Subscribers int     `json:"subscribers"`
	Changes     int     `json:"changes"`
	P50         float64 `json:"lastP50Millis"`
	P99         float64 `json:"lastP99Millis"`
	DirectP50   float64 `json:"directLastP50Millis"`
	DirectP99   float64 `json:"directLastP99Millis"`
	ToDirect    float64 `json:"toDirect"`       // of the last stream: median of the ratios of adjacent changes
	AllToDirect float64 `json:"p99ToDirect"`    // ratio of the p99 over all streams and changes
	CPU         float64 `json:"cpuMicrosEach"`  // of the gateway, per stream and change
	RSS         float64 `json:"rssMiB"`         // of the gateway, after the changes
	Lost        int     `json:"lost"`           // not received within the timeout
	Doubled     int     `json:"doubled"`        // received again
	Crossed     int     `json:"crossed"`        // received with other content
	DirectLost  int     `json:"directFailures"` // all failures of the direct streams, which mean that the measurement itself is wrong
}

// Failures returns the number of messages that were lost, duplicated or wrong.
func (f *Fanout) Failures() (n int) {
	for _, r := range f.Rows {
		n += r.Lost + r.Doubled + r.Crossed
	}
	return n
}

func (f *Fanout) table() [][]string {
	rows := [][]string{{"streams ← server", "streams", "p50 ms", "p99 ms", "× p50", "× p99", "failed"}}
	for _, r := range f.Rows {
		rows = append(rows, []string{r.name(), fmt.Sprint(r.Subscribers), number("%.2f", r.P50), number("%.2f", r.P99),
			number("%.2f", r.ToDirect), number("%.2f", r.AllToDirect), r.failed()})
	}
	return rows
}

func (r *FanoutRow) name() string {
	name := r.Clients + " ← " + r.Behind
	if r.Change != FanoutChanges[0] {
		name += ", " + r.Change
	}
	return name
}

// failed returns "0" or what went wrong.
func (r *FanoutRow) failed() string {
	var words []string
	for _, f := range []struct {
		n    int
		what string
	}{{r.Lost, "lost"}, {r.Doubled, "duplicated"}, {r.Crossed, "wrong"}, {r.DirectLost, "failed directly"}} {
		if f.n > 0 {
			words = append(words, fmt.Sprint(f.n, " ", f.what))
		}
	}
	if words == nil {
		return "0"
	}
	return strings.Join(words, ", ")
}

// RunFanout measures fan-out and returns the report. It blocks until it is done or ctx ends, and stops all processes it started.
func RunFanout(ctx context.Context, o FanoutOptions, progress io.Writer) (*Report, error) {
	o = o.Default()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	base := Options{Kind: "fanout", Program: o.Program, Commit: o.Commit, Command: o.Command, Servers: 1, Tools: 1}
	return runIn(ctx, base, progress, func(s *setup, report *Report) error {
		report.Fanout = &Fanout{}
		return s.fanout(o, report.Fanout)
	})
}

// fanout runs one gateway over all servers. Streams subscribe to one server at a time.
func (s *setup) fanout(o FanoutOptions, f *Fanout) error {
	servers := map[string]any{}
	var all []*behind
	for i, kind := range o.Behind {
		b, err := s.newBehind(kind, fmt.Sprintf("b%d", i))
		if err != nil {
			return err
		}
		defer b.close()
		servers[b.name] = b.entry
		all = append(all, b)
	}
	s.settings = map[string]any{"limits": map[string]any{"maxSessions": 10_000 + slices.Max(o.Subscribers)}}
	g, err := s.gateway(servers)
	if err != nil {
		return err
	}
	for _, era := range o.Clients {
		kind := "http"
		if era == "modern" {
			kind = "http-modern"
		}
		direct, err := s.newBehind(kind, "d"+era)
		if err != nil {
			return err
		}
		defer direct.close()
		for _, what := range o.What {
			for _, n := range o.Subscribers {
				for _, b := range all {
					fmt.Fprintf(s.progress, "bench fanout: %d %s streams, %s of a server of kind %s, %d changes\n", n, era, what, b.kind, o.Changes)
					run := fanoutRun{s: s, g: g, era: era, what: what, n: n, changes: o.Changes}
					row, err := run.row(direct, b)
					if err != nil {
						return err
					}
					f.Rows = append(f.Rows, row)
				}
			}
		}
	}
	return nil
}

// fanoutRun is one row being measured.
type fanoutRun struct {
	s          *setup
	g          *gateway
	era, what  string
	n, changes int
}

const (
	fanoutWait  = 10 * time.Second       // after this time a change counts as lost
	fanoutQuiet = 600 * time.Millisecond // for streams to settle and for duplicates to arrive
	// listPause separates two changes of a list: the gateway announces list changes at most every 250 ms, which is not a cost of fan-out.
	listPause = 300 * time.Millisecond
)

func (r *fanoutRun) row(direct, b *behind) (FanoutRow, error) {
	row := FanoutRow{Change: r.what, Clients: r.era, Behind: b.kind, Subscribers: r.n, Changes: r.changes}
	through, beside := &audience{all: make(chan struct{}, 1)}, &audience{all: make(chan struct{}, 1)}
	if r.what == "updated" {
		through.uri, beside.uri = "resource://"+b.name+"/"+liveURI, liveURI
	}
	defer through.close()
	defer beside.close()
	if err := through.open(r.s.ctx, r.g.process, r.era, r.n); err != nil {
		return row, fmt.Errorf("gateway: %w", err)
	}
	if err := beside.open(r.s.ctx, direct.at, r.era, r.n); err != nil {
		return row, fmt.Errorf("direct: %w", err)
	}
	r.s.pause(fanoutQuiet)
	through.reset()
	beside.reset()
	var gate, dir fanoutTimes
	before := r.g.usage()
	for n := int64(1); n <= int64(r.changes); n++ {
		for turn := range 2 { // in alternating order, so that background load affects both alike
			var err error
			if (turn == 0) == (n%2 == 0) {
				err = r.publish(through, b, n, &gate)
			} else {
				err = r.publish(beside, direct, n, &dir)
			}
			if err != nil {
				return row, err
			}
		}
	}
	after := r.g.usage()
	r.s.pause(fanoutQuiet)
	row.Lost, row.Doubled, row.Crossed = gate.lost, int(through.doubled.Load()), int(through.crossed.Load())
	row.DirectLost = dir.lost + int(beside.doubled.Load()+beside.crossed.Load())
	if first := through.first.Load(); first != nil {
		fmt.Fprintf(r.s.progress, "bench fanout: a stream received %.300q\n", *first)
	}
	row.P50, row.P99 = gate.quantiles()
	row.DirectP50, row.DirectP99 = dir.quantiles()
	row.ToDirect, row.AllToDirect = gate.over(&dir)
	row.CPU = float64((after.cpu - before.cpu).Microseconds()) / float64(r.n*r.changes)
	row.RSS = float64(after.rss) / (1 << 20)
	return row, nil
}

func (r *fanoutRun) publish(a *audience, b *behind, n int64, times *fanoutTimes) error {
	if r.what == "list" {
		r.s.pause(listPause)
	}
	t, err := a.publish(r.s.ctx, n, fanoutWait, func() error {
		_, err := b.tell("%s", map[string]string{"updated": fmt.Sprint("updated ", n), "list": "change"}[r.what])
		return err
	})
	times.add(t)
	return err
}

// fanoutTimes are the times of all changes that one target received.
type fanoutTimes struct {
	last []float64 // milliseconds, per change
	all  []float64
	lost int
}

func (f *fanoutTimes) add(t told) {
	f.last = append(f.last, millis(t.last))
	for _, took := range t.took {
		f.all = append(f.all, millis(took))
	}
	f.lost += t.lost
}

// quantiles returns p50 and p99 of the last stream to receive a change.
func (f *fanoutTimes) quantiles() (p50, p99 float64) {
	sorted := slices.Sorted(slices.Values(f.last))
	return quantileOf(sorted, .5), quantileOf(sorted, .99)
}

// over returns the ratios to the times of the same changes sent directly.
func (f *fanoutTimes) over(direct *fanoutTimes) (last, all float64) {
	var ratios []float64
	for i := range min(len(f.last), len(direct.last)) {
		if f.last[i] > 0 && direct.last[i] > 0 {
			ratios = append(ratios, f.last[i]/direct.last[i])
		}
	}
	mine, theirs := quantileOf(slices.Sorted(slices.Values(f.all)), .99), quantileOf(slices.Sorted(slices.Values(direct.all)), .99)
	if theirs > 0 {
		all = mine / theirs
	}
	return median(ratios), all
}

// quantileOf returns the q-quantile of sorted values, or 0 if there are none.
func quantileOf(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

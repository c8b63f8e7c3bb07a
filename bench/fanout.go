package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"goblin-actor/bench/load"
	"goblin-actor/bench/process"
	"goblin-actor/bench/report"
	"goblin-actor/bench/server"
	"goblin-actor/bench/stats"
)

// FanoutOptions configures RunFanout. Default completes them.
type FanoutOptions struct {
	Subscribers []int    // number of concurrent streams, one measurement each; default 100, 1000
	Changes     int      // number of changes published one after the other to each target; default 100
	Clients     []string // elements of process.Eras; default both
	Behind      []string // elements of process.ServerKinds; default http and stdio
	What        []string // elements of FanoutChanges; default updated
	Program     string   // this binary
	Commit      string   // for the report
	Command     string   // for the report
}

// FanoutChanges are the kinds of changes: of a subscribed resource, or of the list of tools.
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
		o.Clients = process.Eras
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
	faults := []error{allOf("clients", o.Clients, process.Eras), allOf("behind", o.Behind, process.ServerKinds), allOf("change", o.What, FanoutChanges)}
	for _, n := range o.Subscribers {
		if n < 1 || n > 9000 { // each needs up to two connections, and a process can usually open about 20 000
			faults = append(faults, fmt.Errorf("subscribers: got %d, expected 1 to 9000", n))
		}
	}
	if o.Changes < 1 || o.Changes > 100_000 {
		faults = append(faults, fmt.Errorf("changes: got %d, expected 1 to 100000", o.Changes))
	}
	return errors.Join(faults...)
}

// RunFanout measures fan-out and returns the report. It blocks until it is done or ctx ends, and stops all processes it
// started.
func RunFanout(ctx context.Context, o FanoutOptions, progress io.Writer) (*report.Report, error) {
	o = o.Default()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	base := Options{Kind: "fanout", Program: o.Program, Commit: o.Commit, Command: o.Command, Servers: 1, Tools: 1}
	return runIn(ctx, base, progress, func(s *setup, result *report.Report) error {
		result.Fanout = &report.Fanout{}
		return s.fanout(o, result.Fanout)
	})
}

// fanout measures all rows with one gateway that has all servers. In each row, one server publishes the changes.
func (s *setup) fanout(o FanoutOptions, f *report.Fanout) error {
	servers := map[string]any{}
	var all []*process.RawServer
	for i, kind := range o.Behind {
		b, err := s.NewRawServer(kind, fmt.Sprintf("b%d", i))
		if err != nil {
			return err
		}
		defer b.Close()
		servers[b.Name] = b.Entry
		all = append(all, b)
	}
	s.Settings = map[string]any{"limits": map[string]any{"maxSessions": 10_000 + slices.Max(o.Subscribers)}}
	g, err := s.Gateway(servers)
	if err != nil {
		return err
	}
	for _, era := range o.Clients {
		kind := "http"
		if era == "modern" {
			kind = "http-modern"
		}
		direct, err := s.NewRawServer(kind, "d"+era)
		if err != nil {
			return err
		}
		defer direct.Close()
		for _, what := range o.What {
			for _, n := range o.Subscribers {
				for _, b := range all {
					fmt.Fprintf(s.progress, "bench fanout: %d %s streams, kind of change %s, server kind %s, %d changes\n", n, era, what, b.Kind, o.Changes)
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

// fanoutRun measures one row.
type fanoutRun struct {
	s          *setup
	g          *process.Gateway
	era, what  string
	n, changes int
}

// listPause is the pause before each change of a list. The gateway announces list changes at most every 250 ms; without
// the pause, this would count as a cost of fan-out.
const listPause = 300 * time.Millisecond

func (r *fanoutRun) row(direct, b *process.RawServer) (report.FanoutRow, error) {
	row := report.FanoutRow{Change: r.what, Clients: r.era, Behind: b.Kind, Subscribers: r.n, Changes: r.changes}
	through, beside := load.NewAudience(""), load.NewAudience("")
	if r.what == "updated" {
		through, beside = load.NewAudience("resource://"+b.Name+"/"+server.ItemURI), load.NewAudience(server.ItemURI)
	}
	defer through.Close()
	defer beside.Close()
	if err := through.Open(r.s.ctx, r.g.Process, r.era, r.n); err != nil {
		return row, fmt.Errorf("gateway: %w", err)
	}
	if err := beside.Open(r.s.ctx, direct.At, r.era, r.n); err != nil {
		return row, fmt.Errorf("direct: %w", err)
	}
	r.s.Sleep(load.SettleTime)
	through.Reset()
	beside.Reset()
	var gate, dir fanoutTimes
	before := r.g.Usage()
	for n := int64(1); n <= int64(r.changes); n++ {
		for turn := range 2 { // in alternating order, so that background load affects both targets alike
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
	after := r.g.Usage()
	r.s.Sleep(load.SettleTime)
	row.Lost, row.Doubled, row.Crossed = gate.lost, int(through.Duplicated.Load()), int(through.Wrong.Load())
	row.DirectLost = dir.lost + int(beside.Duplicated.Load()+beside.Wrong.Load())
	if first := through.FirstWrong.Load(); first != nil {
		fmt.Fprintf(r.s.progress, "bench fanout: a stream received %.300q\n", *first)
	}
	row.P50, row.P99 = gate.quantiles()
	row.DirectP50, row.DirectP99 = dir.quantiles()
	row.ToDirect, row.AllToDirect = gate.over(&dir)
	row.CPU = float64((after.CPU - before.CPU).Microseconds()) / float64(r.n*r.changes)
	row.RSS = float64(after.RSS) / (1 << 20)
	return row, nil
}

func (r *fanoutRun) publish(a *load.Audience, b *process.RawServer, n int64, times *fanoutTimes) error {
	if r.what == "list" {
		r.s.Sleep(listPause)
	}
	t, err := a.Publish(r.s.ctx, n, load.DeliveryTimeout, func() error {
		_, err := b.Command("%s", map[string]string{"updated": fmt.Sprint("updated ", n), "list": "change"}[r.what])
		return err
	})
	times.add(t)
	return err
}

// fanoutTimes are the times of all changes that one target received.
type fanoutTimes struct {
	last []float64 // milliseconds until the last stream had received the change, per change
	all  []float64 // milliseconds, per stream and change
	lost int
}

func (f *fanoutTimes) add(t load.Delivery) {
	f.last = append(f.last, stats.Millis(t.Last))
	for _, took := range t.Latencies {
		f.all = append(f.all, stats.Millis(took))
	}
	f.lost += t.Lost
}

// quantiles returns the p50 and p99 of the time until the last stream had received a change.
func (f *fanoutTimes) quantiles() (p50, p99 float64) {
	sorted := slices.Sorted(slices.Values(f.last))
	return stats.Quantile(sorted, .5), stats.Quantile(sorted, .99)
}

// over returns two ratios to the direct streams: the median ratio of the times until the last stream received a change,
// and the ratio of the p99 over all streams.
func (f *fanoutTimes) over(direct *fanoutTimes) (last, all float64) {
	var ratios []float64
	for i := range min(len(f.last), len(direct.last)) {
		if f.last[i] > 0 && direct.last[i] > 0 {
			ratios = append(ratios, f.last[i]/direct.last[i])
		}
	}
	mine, theirs := stats.Quantile(slices.Sorted(slices.Values(f.all)), .99), stats.Quantile(slices.Sorted(slices.Values(direct.all)), .99)
	if theirs > 0 {
		all = mine / theirs
	}
	return stats.Median(ratios), all
}

package status

import (
	"context"
	"fmt"
	"slices"
	"time"
)

const (
	followStep  = 100 * time.Millisecond // minimum time between two rounds of a stream; the result of a survey is reported in between
	followSlow  = 10 * time.Second       // a reader that takes longer to receive a state gets a complete one next
	followBatch = 256                    // maximum number of entries in a Notice
	callPause   = 2 * time.Millisecond   // pause for each reported call, so that a stream costs a busy gateway less than 2 %
)

// Follow implements Source.
func (l Local) Follow(ctx context.Context, o FollowOptions, tell func(Notice) error) error {
	f, err := l.following(o, tell)
	if err != nil {
		return err
	}
	if err := f.streams.enter(); err != nil {
		return err
	}
	defer f.streams.leave()
	if err := f.tellHello(); err != nil {
		return err
	}
	tick := time.NewTicker(f.every)
	defer tick.Stop()
	surveyed, err := f.round(ctx)
	for err == nil {
		if o.Once && (f.base != nil || f.lost || !f.stateful()) {
			return nil
		}
		select {
		case <-surveyed:
			surveyed, err = f.state()
		case <-tick.C:
			surveyed, err = f.round(ctx)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return err
}

// following is one stream. It belongs to the goroutine of Follow.
type following struct {
	local   Local
	streams *Streams
	tell    func(Notice) error
	want    map[Want]bool
	server  string
	every   time.Duration

	at      Cursor
	resumed bool      // at is from an earlier stream
	base    *Snapshot // the last one that was reported; nil = the next one is reported in full
	lost    bool      // the gateway does not respond, which was reported
	paused  time.Time // no finished calls are reported before this time

	asked    int64 // Unix second of the last report of intervals, or of the last query without an answer
	recorded int64 // Unix second until which intervals were reported; 0 = none were
	since    int64 // Since of the gateway's Series in the last report
}

func (l Local) following(o FollowOptions, tell func(Notice) error) (*following, error) {
	f := &following{local: l, streams: l.Streams, tell: tell, server: o.Server, every: max(o.Every, followStep), want: map[Want]bool{}}
	for _, want := range o.Want {
		if !slices.Contains(Wants, want) {
			return nil, fmt.Errorf("unknown kind of event %q; %w", want, ErrUnknownWant)
		}
		f.want[want] = true
	}
	if len(f.want) == 0 {
		return nil, fmt.Errorf("no kind of event is given; %w", ErrUnknownWant)
	}
	if f.streams == nil {
		f.streams = NewStreams("")
	}
	boot := f.streams.hello.Boot
	switch {
	case o.Last != "":
		last, err := ParseCursor(o.Last)
		if err != nil {
			return nil, err
		}
		if last.Boot == "" || last.Boot == boot {
			f.at, f.resumed = last, true
		}
	case o.New:
		f.at.Finished = l.Counters.ended.Load()
		if l.Log != nil {
			f.at.Log, f.at.Lines = l.Log.newest()
		}
		if l.Changes != nil {
			f.at.Catalog = l.Changes.Last()
		}
	}
	f.at.Boot = boot
	return f, nil
}

func (f *following) notify(n Notice) error {
	n.ID = f.at.String()
	return f.tell(n)
}

func (f *following) tellHello() error {
	hello := f.streams.hello
	return f.notify(Notice{Hello: &hello, Back: f.lost})
}

// round reports everything that is new. surveyed is closed at the end of the survey in progress; nil = none.
func (f *following) round(ctx context.Context) (surveyed <-chan struct{}, err error) {
	if err := f.second(ctx); err != nil {
		return nil, err
	}
	for _, report := range []func() error{f.finished, f.log, f.lines, f.catalog} {
		if err := report(); err != nil {
			return nil, err
		}
	}
	if !f.stateful() {
		return nil, nil
	}
	return f.state()
}

// stateful reports whether any part of the state is wanted.
func (f *following) stateful() bool {
	return f.want[WantState] || f.want[WantCalls] || f.want[WantSessions] || f.want[WantActors]
}

// state reports the newest Snapshot if it differs from the last one. surveyed is as in round.
func (f *following) state() (surveyed <-chan struct{}, err error) {
	newest, surveyed, failed := f.streams.look(f.local.Status)
	switch {
	case failed != nil && !f.lost:
		f.lost, f.base = true, nil
		return surveyed, f.notify(Notice{Lost: failed})
	case failed != nil:
		return surveyed, nil
	case newest == nil || newest == f.base:
		return surveyed, nil
	}
	if f.lost {
		if err := f.tellHello(); err != nil {
			return nil, err
		}
		f.lost = false
	}
	n := Notice{Snapshot: f.only(newest)}
	if f.base != nil {
		if n.Delta = f.onlyDelta(f.streams.between(f.base, newest)); n.Delta == nil {
			f.base = newest
			return surveyed, nil
		}
	}
	f.base = newest
	began := time.Now()
	err = f.notify(n)
	if time.Since(began) > followSlow {
		f.base = nil
	}
	return surveyed, err
}

// only returns the wanted part of a Snapshot.
func (f *following) only(s *Snapshot) *Snapshot {
	part := *s
	if !f.want[WantState] {
		part.Servers, part.Backends = []Server{}, []Backend{}
	}
	if !f.want[WantCalls] {
		part.Calls = []Call{}
	}
	if !f.want[WantSessions] {
		part.Sessions, part.Subscriptions = []Session{}, nil
	}
	if !f.want[WantActors] {
		part.Actors = []Actor{}
	}
	return &part
}

// onlyDelta returns the wanted part of a Delta, or nil if nothing is left.
func (f *following) onlyDelta(d *Delta) *Delta {
	if d == nil {
		return nil
	}
	part := *d
	if !f.want[WantState] {
		part.Servers, part.Backends = nil, nil
	}
	if !f.want[WantCalls] {
		part.Calls = nil
	}
	if !f.want[WantSessions] {
		part.Sessions, part.Subscriptions = nil, nil
	}
	if !f.want[WantActors] {
		part.Actors = nil
	}
	if part == (Delta{Now: part.Now}) {
		return nil
	}
	return &part
}

// finished reports calls that have ended. If there are more than followBatch, it reports only the failed and the newest ones, unless
// nothing is known to the reader yet. A pause follows that is proportional to the number of calls.
func (f *following) finished() error {
	if !f.want[WantFinished] || time.Now().Before(f.paused) {
		return nil
	}
	list, err := f.local.Finished(context.Background(), f.server, f.at.Finished)
	if err != nil || len(list) == 0 {
		return err
	}
	if f.at.Finished > 0 {
		list = newestCalls(list, followBatch)
	}
	missed := f.missed(f.server, f.at.Finished, list[len(list)-1].Number, len(list))
	f.paused = time.Now().Add(time.Duration(len(list)) * callPause)
	return inBatches(list, missed, func(batch []FinishedCall, missed uint64) error {
		f.at.Finished = batch[len(batch)-1].Number
		return f.notify(Notice{Finished: batch, Missed: missed})
	})
}

// newestCalls returns the failed calls and the newest n calls of a list that is ordered by number. It overwrites the list.
func newestCalls(list []FinishedCall, n int) []FinishedCall {
	if len(list) <= n {
		return list
	}
	out, older := list[:0], len(list)-n
	for i, call := range list {
		if i >= older || call.Failed() {
			out = append(out, call)
		}
	}
	return out
}

func (f *following) log() error {
	if !f.want[WantLog] || f.local.Log == nil {
		return nil
	}
	list := f.local.Log.After(f.at.Log)
	if len(list) == 0 {
		return nil
	}
	missed := f.missed("", f.at.Log, list[len(list)-1].Number, len(list))
	return inBatches(list, missed, func(batch []Event, missed uint64) error {
		f.at.Log = batch[len(batch)-1].Number
		return f.notify(Notice{Log: batch, Missed: missed})
	})
}

func (f *following) lines() error {
	if !f.want[WantLines] || f.local.Log == nil {
		return nil
	}
	list := f.local.Log.Lines(f.server, f.at.Lines)
	if len(list) == 0 {
		return nil
	}
	missed := f.missed(f.server, f.at.Lines, list[len(list)-1].Number, len(list))
	return inBatches(list, missed, func(batch []Event, missed uint64) error {
		f.at.Lines = batch[len(batch)-1].Number
		return f.notify(Notice{Lines: batch, Missed: missed})
	})
}

func (f *following) catalog() error {
	if !f.want[WantCatalog] || f.local.Changes == nil {
		return nil
	}
	list, _ := f.local.Changes.After(f.at.Catalog)
	if len(list) == 0 {
		return nil
	}
	list = without(list, f.local.Known)
	missed := f.missed("", f.at.Catalog, list[len(list)-1].Number, len(list))
	return inBatches(list, missed, func(batch []CatalogChange, missed uint64) error {
		f.at.Catalog = batch[len(batch)-1].Number
		return f.notify(Notice{Catalog: batch, Missed: missed})
	})
}

// missed returns how many of the entries with numbers above after and up to last are missing from a list of n entries. It returns
// 0 for a list of one server, because its entries share their numbers with those of other servers. It also returns 0 if after is 0
// in a stream that does not resume another.
func (f *following) missed(server string, after, last uint64, n int) uint64 {
	if server != "" || after == 0 && !f.resumed {
		return 0
	}
	return last - after - uint64(n)
}

// inBatches passes a list on in parts of at most followBatch entries.
func inBatches[T any](list []T, missed uint64, tell func(batch []T, missed uint64) error) error {
	for batch := range slices.Chunk(list, followBatch) {
		if err := tell(batch, missed); err != nil {
			return err
		}
		missed = 0
	}
	return nil
}

package status

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"goblin-actor/internal/trace"
	"goblin-actor/protocol"
)

// DurationBounds are the upper bounds of the buckets of Durations in seconds, as the semantic conventions for MCP specify
// them.
var DurationBounds = [...]float64{.01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60, 120, 300}

// Limits of the series of one Durations. Servers choose their error codes, so the number of codes has no limit.
const (
	maxSeries       = 2000 // later ones are counted without their item and version, and their errors as OtherError
	maxCoarseSeries = 3000 // later ones are also counted without their server, method and transport
)

// OtherError is the class of all errors that have no series of their own.
const OtherError = "_OTHER"

// DurationKey names a series of Durations.
type DurationKey struct {
	Server    string // the configured server; "" = the clients' side
	Method    protocol.Method
	Item      string // tool or prompt; "" = none
	Error     string // ErrorType; "" = success
	Version   string // protocol version; "" = unknown
	Transport string // http (also for HTTP+SSE) | stdio; "" = unknown
}

// Durations is a histogram of durations by key. An observation takes a lookup and two atomic adds, and no lock unless the
// key is new. It is safe for concurrent use. The zero value is ready to use.
type Durations struct {
	series atomic.Pointer[map[DurationKey]*durationSeries] // never modified, only replaced
	mu     sync.Mutex                                      // held while series is replaced
}

type durationSeries struct {
	key       DurationKey
	counts    [len(DurationBounds) + 1]atomic.Uint64
	nanos     atomic.Int64
	exemplars [len(DurationBounds) + 1]atomic.Pointer[Exemplar]
}

// Exemplar is a sampled request that a bucket counts.
type Exemplar struct {
	Trace   [16]byte
	Span    [8]byte
	Seconds float64
	At      time.Time
}

// hint caches the series of the caller's previous observation. Most calls of a method have equal keys, and comparing
// two keys takes a fraction of the time of a lookup.
type hint = atomic.Pointer[durationSeries]

// observe counts a duration in seconds. near may be nil. If the request is sampled, r is the request and span is its
// span; otherwise r is nil.
func (d *Durations) observe(near *hint, key DurationKey, seconds float64, r *trace.Request, span [8]byte) {
	var s *durationSeries
	if near != nil {
		s = near.Load()
	}
	if s == nil || s.key != key {
		if s = d.of(key); near != nil {
			near.Store(s)
		}
	}
	seconds = max(seconds, 0)
	i, _ := slices.BinarySearch(DurationBounds[:], seconds)
	s.counts[i].Add(1)
	s.nanos.Add(int64(seconds * 1e9))
	if r != nil {
		s.exemplars[i].Store(&Exemplar{r.Trace, span, seconds, time.Now()})
	}
}

// of returns the series of a key and creates it if necessary. If there are too many series, it returns that of a
// coarser key.
func (d *Durations) of(key DurationKey) *durationSeries {
	all := d.known()
	if s := all[key]; s != nil {
		return s
	}
	key = key.coarser(all)
	if s := all[key]; s != nil {
		return s
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	all = d.known()
	key = key.coarser(all)
	if s := all[key]; s != nil {
		return s
	}
	more := maps.Clone(all)
	if more == nil {
		more = map[DurationKey]*durationSeries{}
	}
	s := &durationSeries{key: key}
	more[key] = s
	d.series.Store(&more)
	return s
}

// coarser returns the key under which k is counted if all has no series for k.
func (k DurationKey) coarser(all map[DurationKey]*durationSeries) DurationKey {
	if len(all) < maxSeries {
		return k
	}
	k.Item, k.Version = "", ""
	if k.Error != "" {
		k.Error = OtherError
	}
	if len(all) < maxCoarseSeries || all[k] != nil {
		return k
	}
	k.Method, k.Transport = protocol.MethodOther, ""
	if k.Server != "" {
		k.Server = other
	}
	return k
}

func (d *Durations) known() map[DurationKey]*durationSeries {
	if all := d.series.Load(); all != nil {
		return *all
	}
	return nil
}

// DurationSeries is a copy of one series.
type DurationSeries struct {
	Key       DurationKey
	Counts    [len(DurationBounds) + 1]uint64 // by bucket, not cumulative; the last one is above all bounds
	Sum       float64                         // seconds
	Exemplars [len(DurationBounds) + 1]*Exemplar
}

// Total returns the number of observations.
func (s *DurationSeries) Total() (n uint64) {
	for _, c := range s.Counts {
		n += c
	}
	return n
}

// add adds the observations of another series. Of two exemplars, the newer one stays.
func (s *DurationSeries) add(o *DurationSeries) {
	s.Sum += o.Sum
	for i := range s.Counts {
		s.Counts[i] += o.Counts[i]
		if e := o.Exemplars[i]; e != nil && (s.Exemplars[i] == nil || e.At.After(s.Exemplars[i].At)) {
			s.Exemplars[i] = e
		}
	}
}

// Series returns a copy of all series, in random order.
func (d *Durations) Series() []DurationSeries {
	known := d.known()
	all := make([]DurationSeries, 0, len(known))
	for key, s := range known {
		c := DurationSeries{Key: key, Sum: float64(s.nanos.Load()) / 1e9}
		for i := range s.counts {
			c.Counts[i], c.Exemplars[i] = s.counts[i].Load(), s.exemplars[i].Load()
		}
		all = append(all, c)
	}
	return all
}

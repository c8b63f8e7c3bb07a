package status

import (
	"slices"
	"sync"
	"sync/atomic"

	"goblin-actor/protocol"
)

// DurationBounds are the upper bounds of the buckets of Durations in seconds, as the semantic conventions for MCP specify
// them.
var DurationBounds = [...]float64{.01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60, 120, 300}

// maxSeries is the maximum number of series of one Durations. Later ones are counted without their item and version, and with
// OtherError: servers choose the codes of their errors, so that their number has no limit.
const maxSeries = 2000

// OtherError is the class of all errors that have no series of their own.
const OtherError = "_OTHER"

// DurationKey names a series of Durations.
type DurationKey struct {
	Server    string // the configured server; "" = the clients' side
	Method    protocol.Method
	Item      string // tool or prompt; "" = none
	Error     string // class of the error; "" = success
	Version   string // protocol version; "" = unknown
	Transport string // http | sse | stdio; "" = unknown
}

// Durations is a histogram of durations by key. An observation takes a lookup and two atomic adds. It is safe for
// concurrent use. The zero value is ready to use.
type Durations struct {
	mu     sync.RWMutex
	series map[DurationKey]*durationSeries
}

type durationSeries struct {
	counts [len(DurationBounds) + 1]atomic.Uint64
	nanos  atomic.Int64
}

// Observe counts a duration in seconds.
func (d *Durations) Observe(key DurationKey, seconds float64) {
	s := d.of(key)
	i, _ := slices.BinarySearch(DurationBounds[:], seconds)
	s.counts[i].Add(1)
	s.nanos.Add(int64(max(seconds, 0) * 1e9))
}

func (d *Durations) of(key DurationKey) *durationSeries {
	d.mu.RLock()
	s := d.series[key]
	full := len(d.series) >= maxSeries
	d.mu.RUnlock()
	if s != nil {
		return s
	}
	if full {
		key.Item, key.Version = "", ""
		if key.Error != "" {
			key.Error = OtherError
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if s = d.series[key]; s == nil {
		if d.series == nil {
			d.series = map[DurationKey]*durationSeries{}
		}
		s = &durationSeries{}
		d.series[key] = s
	}
	return s
}

// DurationSeries is a copy of one series.
type DurationSeries struct {
	Key    DurationKey
	Counts [len(DurationBounds) + 1]uint64 // by bucket, not cumulative; the last one is above all bounds
	Sum    float64                         // seconds
}

// Total returns the number of observations.
func (s *DurationSeries) Total() (n uint64) {
	for _, c := range s.Counts {
		n += c
	}
	return n
}

// Series returns a copy of all series, in random order.
func (d *Durations) Series() []DurationSeries {
	d.mu.RLock()
	defer d.mu.RUnlock()
	all := make([]DurationSeries, 0, len(d.series))
	for key, s := range d.series {
		c := DurationSeries{Key: key, Sum: float64(s.nanos.Load()) / 1e9}
		for i := range s.counts {
			c.Counts[i] = s.counts[i].Load()
		}
		all = append(all, c)
	}
	return all
}

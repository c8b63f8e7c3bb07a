package status

import (
	"math"
	"time"
)

// Limits of the intervals that the gateway stores per server.
const (
	MaxSeconds = 300 // intervals of one second
	MaxMinutes = 120 // intervals of one minute
)

// Interval counts what ended in one second or in one minute. Only whole intervals are reported.
type Interval struct {
	Start   int64    `json:"start"` // Unix seconds
	Calls   uint32   `json:"calls,omitempty"`
	Errors  uint32   `json:"errors,omitempty"`  // calls whose outcome is not ok
	Buckets []Bucket `json:"buckets,omitempty"` // histogram of the calls' durations by ascending index, without empty buckets
	In      uint64   `json:"in,omitempty"`      // bytes received from the server
	Out     uint64   `json:"out,omitempty"`     // bytes sent to the server
	Running int32    `json:"running,omitempty"` // calls that the server worked on at the end of the second; for a minute, the highest of these
	Queued  int32    `json:"queued,omitempty"`  // calls that waited for a free slot, likewise
}

// Series is the recent past of one server or of the gateway. Intervals without any activity are left out.
type Series struct {
	Server  string     `json:"server"`            // "" = the gateway: the sum of all servers
	Since   int64      `json:"since"`             // Unix seconds of the first interval that was recorded, active or not
	Until   int64      `json:"until"`             // end of the last second that was recorded
	Seconds []Interval `json:"seconds,omitempty"` // at most MaxSeconds, oldest first
	Minutes []Interval `json:"minutes,omitempty"` // at most MaxMinutes, oldest first
}

// Totals is the sum of intervals.
type Totals struct {
	Calls   uint64
	Errors  uint64
	Buckets [BucketCount]uint64 // calls by duration, not cumulative; see BucketBound
	In      uint64
	Out     uint64
	Span    time.Duration // how much of the window was recorded
}

// Over returns the sum of what happened in the window before now. It uses seconds for a window of up to MaxSeconds, and minutes for a
// longer one.
func (s *Series) Over(window time.Duration, now time.Time) Totals {
	list, step := s.Seconds, int64(1)
	if window > MaxSeconds*time.Second {
		list, step = s.Minutes, 60
	}
	until := s.Until / step * step
	from := max(s.Since, (now.Add(-window).Unix())/step*step)
	t := Totals{Span: max(0, time.Duration(until-from)*time.Second)}
	for i := range list {
		if start := list[i].Start; start+step > from && start < until {
			t.Add(&list[i])
		}
	}
	return t
}

// Add adds an interval. It does not change Span.
func (t *Totals) Add(i *Interval) {
	t.Calls += uint64(i.Calls)
	t.Errors += uint64(i.Errors)
	t.In += i.In
	t.Out += i.Out
	for _, b := range i.Buckets {
		t.Buckets[b.Index] += uint64(b.Count)
	}
}

// Quantile returns the duration that the fraction q of the calls did not exceed, or 0 if there were no calls. It is within 12 % of the
// true duration if that is between 10 µs and 15 minutes.
func (t *Totals) Quantile(q float64) time.Duration {
	var all uint64
	for _, n := range t.Buckets {
		all += n
	}
	if all == 0 {
		return 0
	}
	rank := max(1, uint64(math.Ceil(min(max(q, 0), 1)*float64(all))))
	for i, n := range t.Buckets {
		if rank <= n {
			return time.Duration(bucketMiddle(i) * float64(time.Second))
		}
		rank -= n
	}
	return time.Duration(bucketMiddle(BucketCount) * float64(time.Second))
}

// PerSecond returns the calls per second, or 0 if nothing was recorded.
func (t *Totals) PerSecond() float64 {
	if t.Span <= 0 {
		return 0
	}
	return float64(t.Calls) / t.Span.Seconds()
}

// ErrorShare returns the fraction of the calls that failed, from 0 to 1, or 0 if there were no calls.
func (t *Totals) ErrorShare() float64 {
	if t.Calls == 0 {
		return 0
	}
	return float64(t.Errors) / float64(t.Calls)
}

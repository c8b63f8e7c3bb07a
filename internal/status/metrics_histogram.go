package status

import (
	"fmt"
	"sync/atomic"
)

// bounds are the upper bounds of the buckets in seconds. They range from less than the duration of a local call to the
// longest timeout.
var bounds = [...]float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900}

// histogram counts durations in fixed buckets. An observation takes two atomic adds and no lock. (The histogram of the metrics library takes a
// mutex and writes vmrange buckets, from which plain Prometheus cannot compute quantiles.)
type histogram struct {
	counts [len(bounds) + 1]atomic.Uint64 // the last one is above all bounds
	nanos  atomic.Int64                   // sum; overflows after 292 years
}

// observe counts a duration in seconds. A negative duration (after the clock was set back) counts as 0.
func (h *histogram) observe(seconds float64) {
	seconds = max(seconds, 0)
	i := 0
	for i < len(bounds) && seconds > bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	h.nanos.Add(int64(seconds * 1e9))
}

// write writes buckets, sum and count, or nothing if there were no observations.
func (h *histogram) write(p *page, name, labels string) {
	var counts [len(bounds) + 1]uint64
	var total uint64
	for i := range h.counts {
		counts[i] = h.counts[i].Load()
		total += counts[i]
	}
	if total == 0 {
		return
	}
	var below uint64
	for i, bound := range bounds {
		below += counts[i]
		fmt.Fprintf(p, "%s_bucket{%s,le=%q} %d\n", name, labels, p.bound(bound), below)
	}
	fmt.Fprintf(p, "%s_bucket{%s,le=\"+Inf\"} %d\n", name, labels, total)
	fmt.Fprintf(p, "%s_sum{%s} %g\n", name, labels, float64(h.nanos.Load())/1e9)
	fmt.Fprintf(p, "%s_count{%s} %d\n", name, labels, total)
}

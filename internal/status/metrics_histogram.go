package status

import (
	"fmt"
	"strings"
	"sync/atomic"
)

// bounds are the upper ends of the buckets in seconds, 1-2.5-5 steps: from below a local call's cost to the longest timeout.
var bounds = [...]float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900}

// histogram counts durations in fixed buckets: two atomic adds an observation, no lock. (The library's histogram takes a
// mutex and writes vmrange buckets, which plain Prometheus cannot compute quantiles from.)
type histogram struct {
	counts [len(bounds) + 1]atomic.Uint64 // the last: above all bounds
	nanos  atomic.Int64                   // sum; overflows after 292 years
}

// observe counts one duration in seconds; a negative one (a clock was set back) counts as 0.
func (h *histogram) observe(seconds float64) {
	seconds = max(seconds, 0)
	i := 0
	for i < len(bounds) && seconds > bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	h.nanos.Add(int64(seconds * 1e9))
}

// write writes the buckets, sum and count under name and labels; nothing when nothing was observed.
func (h *histogram) write(b *strings.Builder, name, labels string) {
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
		fmt.Fprintf(b, "%s_bucket{%s,le=\"%g\"} %d\n", name, labels, bound, below)
	}
	fmt.Fprintf(b, "%s_bucket{%s,le=\"+Inf\"} %d\n", name, labels, total)
	fmt.Fprintf(b, "%s_sum{%s} %g\n", name, labels, float64(h.nanos.Load())/1e9)
	fmt.Fprintf(b, "%s_count{%s} %d\n", name, labels, total)
}

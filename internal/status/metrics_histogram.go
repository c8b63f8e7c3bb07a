package status

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"
)

// bounds are the upper bounds of the buckets in /metrics in seconds. They range from less than the duration of a local call to the
// longest timeout. They are some of fineBounds, so that their counts are exact.
var bounds = [...]float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900}

// fineOf[i] is the index of bounds[i] in fineBounds.
var fineOf = func() (at [len(bounds)]int) {
	for i, bound := range bounds {
		at[i], _ = slices.BinarySearch(fineBounds[:], bound)
	}
	return at
}()

// histogram counts durations in fixed buckets. An observation takes two atomic adds and no lock. (The histogram of the metrics library takes a
// mutex and writes vmrange buckets, from which plain Prometheus cannot compute quantiles.)
type histogram struct {
	counts [BucketCount]atomic.Uint64 // by duration, not cumulative; see BucketBound
	nanos  atomic.Int64               // sum; overflows after 292 years
}

// observe counts a duration in seconds. A negative duration (after the clock was set back) counts as 0.
func (h *histogram) observe(seconds float64) {
	seconds = max(seconds, 0)
	h.counts[bucketOf(seconds)].Add(1)
	h.nanos.Add(int64(seconds * 1e9))
}

// A class contains the durations that agree in the exponent and the first three bits of the mantissa. Its largest duration is at
// most 1.125 times its smallest, so that it contains at most one bound. classes[i] is the bucket of the smallest duration of the
// class lowestClass+i.
const classShift = 52 - 3

var (
	lowestClass = math.Float64bits(fineBounds[0]) >> classShift
	classes     = func() []uint8 {
		highest := math.Float64bits(fineBounds[len(fineBounds)-1]) >> classShift
		table := make([]uint8, highest-lowestClass+1)
		for i := range table {
			bucket, _ := slices.BinarySearch(fineBounds[:], math.Float64frombits((lowestClass+uint64(i))<<classShift))
			table[i] = uint8(bucket)
		}
		return table
	}()
)

// bucketOf returns the bucket of a duration that is not negative.
func bucketOf(seconds float64) int {
	class := math.Float64bits(seconds) >> classShift
	if class < lowestClass {
		return 0
	}
	if class -= lowestClass; class >= uint64(len(classes)) {
		return BucketCount - 1
	}
	bucket := int(classes[class])
	if bucket < len(fineBounds) && seconds > fineBounds[bucket] {
		bucket++
	}
	return bucket
}

// write writes buckets, sum and count, or nothing if there were no observations.
func (h *histogram) write(p *page, name, labels string) {
	var below [BucketCount]uint64 // cumulative
	var total uint64
	for i := range h.counts {
		total += h.counts[i].Load()
		below[i] = total
	}
	if total == 0 {
		return
	}
	for i, bound := range bounds {
		fmt.Fprintf(p, "%s_bucket{%s,le=%q} %d\n", name, labels, p.bound(bound), below[fineOf[i]])
	}
	fmt.Fprintf(p, "%s_bucket{%s,le=\"+Inf\"} %d\n", name, labels, total)
	fmt.Fprintf(p, "%s_sum{%s} %g\n", name, labels, float64(h.nanos.Load())/1e9)
	fmt.Fprintf(p, "%s_count{%s} %d\n", name, labels, total)
}

package status

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// The bucket of a duration is the first one whose bound is not below it, and the bounds of /metrics are bounds of buckets.
func TestBucketOf(t *testing.T) {
	check := func(seconds float64) {
		t.Helper()
		want := 0
		for want < BucketCount-1 && seconds > BucketBound(want) {
			want++
		}
		if got := bucketOf(seconds); got != want {
			t.Errorf("bucketOf(%g) = %d, want %d", seconds, got, want)
		}
	}
	for i, bound := range fineBounds {
		check(bound)
		check(math.Nextafter(bound, 0))
		check(math.Nextafter(bound, math.Inf(1)))
		if i > 0 && (bound/fineBounds[i-1] > 1.27 || bound/fineBounds[i-1] < 1.125) {
			t.Errorf("bounds %g and %g: their ratio is not between 1.125 and 1.27", fineBounds[i-1], bound)
		}
	}
	for _, seconds := range []float64{0, 1e-300, 1e-9, 899, 901, 1e9, math.Inf(1)} {
		check(seconds)
	}
	for range 10_000 {
		check(math.Pow(10, rand.Float64()*10-6))
	}
	for i, bound := range bounds {
		if fineBounds[fineOf[i]] != bound {
			t.Errorf("the bound %g of /metrics is not a bound of buckets", bound)
		}
	}
}

// Quantiles are computed from buckets and differ from the true ones by at most 12 %.
func TestQuantile(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var total Totals
		all := make([]float64, 1000)
		for i := range all {
			all[i] = 2e-5 * math.Pow(10, rng.Float64()*rng.Float64()*7)
			total.Buckets[bucketOf(all[i])]++
		}
		slices.Sort(all)
		for _, q := range []float64{.001, .5, .95, .99, 1} {
			want, got := all[int(math.Ceil(q*1000))-1], total.Quantile(q).Seconds()
			if math.Abs(got-want) > .12*want {
				t.Errorf("seed %d: quantile %g is %g, want %g ± 12 %%", seed, q, got, want)
			}
		}
	}
	if none := (&Totals{}); none.Quantile(.5) != 0 || none.PerSecond() != 0 || none.ErrorShare() != 0 {
		t.Error("no calls have a quantile, a rate or errors")
	}
}

// A window contains the intervals that began in it, and counts seconds without activity.
func TestOver(t *testing.T) {
	s := Series{Since: 1000, Until: 1100, Seconds: []Interval{{Start: 1000, Calls: 7}, {Start: 1040, Calls: 2, Errors: 1}, {Start: 1099, Calls: 3, Out: 5}},
		Minutes: []Interval{{Start: 960, Calls: 9, Errors: 1}}}
	cases := []struct {
		window time.Duration
		now    int64
		calls  uint64
		span   time.Duration
	}{
		{time.Minute, 1100, 5, time.Minute},
		{61 * time.Second, 1100, 5, 61 * time.Second},
		{time.Second, 1100, 3, time.Second},
		{5 * time.Minute, 1100, 12, 100 * time.Second}, // nothing was recorded before
		{time.Minute, 1130, 3, 30 * time.Second},       // the Series is half a minute old
		{time.Minute, 2000, 0, 0},
		{time.Hour, 1100, 9, 80 * time.Second}, // minutes, without the one that is not over
	}
	for _, c := range cases {
		if got := s.Over(c.window, time.Unix(c.now, 0)); got.Calls != c.calls || got.Span != c.span {
			t.Errorf("Over(%v, %d): %d calls in %v, want %d in %v", c.window, c.now, got.Calls, got.Span, c.calls, c.span)
		}
	}
	if got := s.Over(time.Minute, time.Unix(1100, 0)); got.PerSecond() != 5./60 || got.ErrorShare() != .2 || got.Out != 5 {
		t.Errorf("%g calls per second, %g errors, %d bytes", got.PerSecond(), got.ErrorShare(), got.Out)
	}
}

// In JSON a bucket is a pair of numbers. A bucket that does not exist is refused.
func TestBucketJSON(t *testing.T) {
	text, err := json.Marshal(Interval{Start: 5, Calls: 3, Buckets: []Bucket{{4, 2}, {81, 1}}})
	if want := `{"start":5,"calls":3,"buckets":[[4,2],[81,1]]}`; err != nil || string(text) != want {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
	var b Bucket
	if err := json.Unmarshal([]byte(`[82,1]`), &b); err == nil {
		t.Error("bucket 82 is accepted")
	}
}

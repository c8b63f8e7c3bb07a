package stats

import "testing"

func TestMedianAndQuantile(t *testing.T) {
	if got := Median([]float64{9, 1, 4}); got != 4 {
		t.Errorf("median: %g", got)
	}
	if got := Median([]float64{4, 1}); got != 2.5 {
		t.Errorf("median of two: %g", got)
	}
	if got := QuantileMicros([]uint32{10, 20, 30, 40}, .5); got != 3 {
		t.Errorf("quantile: %g", got)
	}
	if Median(nil) != 0 || QuantileMicros(nil, .5) != 0 {
		t.Error("no values: want 0")
	}
}

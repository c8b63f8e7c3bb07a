package stats

import (
	"slices"
	"time"
)

// Median returns the median of values, or 0 if there are none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	values = slices.Sorted(slices.Values(values))
	middle := len(values) / 2
	if len(values)%2 == 0 {
		return (values[middle-1] + values[middle]) / 2
	}
	return values[middle]
}

// QuantileMicros returns the q-quantile, in microseconds, of sorted tenths of microseconds.
func QuantileMicros(sorted []uint32, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]) / 10
}

// Quantile returns the q-quantile of sorted values, or 0 if there are none.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// Millis returns d in milliseconds.
func Millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

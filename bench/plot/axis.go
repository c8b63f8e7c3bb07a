package plot

import "math"

// axis maps values to pixels.
type axis struct {
	low, high float64 // the values at the ends of the axis, low < high
	from, to  float64 // the pixels at the ends of the axis
	powers    bool    // logarithmic, with low > 0
	ticks     []float64
}

func (a axis) at(v float64) float64 {
	low, high := a.low, a.high
	if a.powers {
		low, high, v = math.Log(low), math.Log(high), math.Log(v)
	}
	return a.from + (v-low)/(high-low)*(a.to-a.from)
}

// even returns a linear axis from zero to a round number of at least high, or to 1 if high is not positive or not finite.
func even(high, from, to float64) axis {
	a := axis{high: 1, from: from, to: to}
	if high > 0 && finite(high*2) {
		step := roundUp(high / 6)
		a.high = step * math.Ceil(high/step*(1-1e-9))
		for i := range 11 {
			if v := step * float64(i); v <= a.high*(1+1e-9) {
				a.ticks = append(a.ticks, v)
			}
		}
		return a
	}
	a.ticks = []float64{0, 1}
	return a
}

// roundUp returns the smallest of 1, 2, 2.5 and 5 times a power of ten that is at least v.
func roundUp(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if v <= m*power*(1+1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// decades returns a logarithmic axis with ticks at 1, 2 and 5 times powers of ten, from the tick below low to the tick
// above high.
func decades(low, high, from, to float64) axis {
	a := axis{from: from, to: to, powers: true}
	first, last := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	var all []float64
	for e := first; e <= last; e++ {
		for _, m := range []float64{1, 2, 5} {
			all = append(all, m*math.Pow(10, e))
		}
	}
	for i, v := range all {
		below := i+1 < len(all) && all[i+1] <= low*(1+1e-9)
		above := i > 0 && all[i-1] >= high*(1-1e-9)
		if !below && !above {
			a.ticks = append(a.ticks, v)
		}
	}
	if len(a.ticks) < 2 {
		a.ticks = []float64{low / 2, low * 2}
	}
	a.low, a.high = a.ticks[0], a.ticks[len(a.ticks)-1]
	if len(a.ticks) > 10 { // only powers of ten
		var ones []float64
		for _, v := range a.ticks {
			if e := math.Log10(v); math.Abs(e-math.Round(e)) < 1e-9 {
				ones = append(ones, v)
			}
		}
		a.ticks = ones
	}
	return a
}

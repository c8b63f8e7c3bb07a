package sim

import "slices"

// Shorten leaves out of a story what it does not need to fail. fails tells a story and reports whether a law was broken;
// it is asked at most tries times.
func Shorten(p Params, acts, tries int, fails func(Params) bool) Params {
	left := make([]int, acts)
	for i := range left {
		left[i] = i + 1
	}
	without := func(keep []int) Params {
		shorter := p
		shorter.Without = slices.Clone(p.Without)
		for number := 1; number <= acts; number++ {
			if _, kept := slices.BinarySearch(keep, number); !kept {
				shorter.Without = append(shorter.Without, number)
			}
		}
		return shorter
	}
	for size := max(1, acts/2); size > 0 && tries > 0; size /= 2 {
		for at := 0; at < len(left) && tries > 0; tries-- {
			keep := slices.Concat(left[:at], left[min(len(left), at+size):])
			if fails(without(keep)) {
				left = keep
			} else {
				at += size
			}
		}
	}
	return without(left)
}

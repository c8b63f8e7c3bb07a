package sim

import (
	"slices"
	"time"
)

// Shorten leaves out of a story what it does not need to fail: acts, scenes, then whoever has nothing to do. fails tells a story
// and reports whether a law was broken, and how many acts were drawn by then; it is asked at most tries times. left is the number
// of acts that are needed.
func Shorten(p Params, acts, tries int, fails func(Params) (int, bool)) (shortest Params, left int) {
	p.Acts = acts // what has not happened by then is not needed
	shorter := func(less func(*Params)) bool {
		if tries--; tries < 0 {
			return false
		}
		of := p
		less(&of)
		drawn, broken := fails(of)
		if !broken {
			return false
		}
		p = of
		p.Acts = min(p.Acts, drawn)
		return true
	}
	without, unseen, all := p.Without, p.Unseen, (&world{}).allScenes()
	needed := reduce(acts, func(keep []int) (int, bool) {
		done := shorter(func(p *Params) {
			p.Without = slices.Clone(without)
			for number := range acts {
				if _, kept := slices.BinarySearch(keep, number); !kept {
					p.Without = append(p.Without, number+1)
				}
			}
		})
		return p.Acts, done
	})
	reduce(len(all), func(keep []int) (int, bool) {
		done := shorter(func(p *Params) {
			p.Unseen = slices.Clone(unseen)
			for i, scene := range all {
				if !slices.Contains(keep, i) {
					p.Unseen = append(p.Unseen, scene.name)
				}
			}
		})
		return len(all), done
	})
	if len(needed) > 0 {
		return p, len(needed) // their numbers depend on who is there, and for how long
	}
	shorter(func(p *Params) { p.Lasts, p.Pace, p.Without, p.Acts = time.Minute, 10000*time.Hour, nil, 0 })
	for i := len(p.Clients) - 1; i >= 0; i-- {
		if !p.Clients[i].Honest {
			shorter(func(p *Params) { p.Clients = slices.Delete(slices.Clone(p.Clients), i, i+1) })
		}
	}
	for i := len(p.Servers) - 1; i >= 0 && len(p.Servers) > 2; i-- { // an honest one, and one that is not
		if !p.Servers[i].Honest {
			shorter(func(p *Params) { p.Servers = slices.Delete(slices.Clone(p.Servers), i, i+1) })
		}
	}
	return p, 0
}

// reduce leaves out as many of n things as it can, by large pieces first, and returns those that are left. fails
// reports whether they will do, and how many from the first on.
func reduce(n int, fails func(keep []int) (int, bool)) []int {
	left := make([]int, n)
	for i := range left {
		left[i] = i
	}
	for size := n; size > 0; size /= 2 {
		for at := 0; at < len(left); {
			keep := slices.Concat(left[:at], left[min(len(left), at+size):])
			if first, done := fails(keep); done {
				left = slices.DeleteFunc(keep, func(i int) bool { return i >= first })
			} else {
				at += size
			}
		}
	}
	return left
}

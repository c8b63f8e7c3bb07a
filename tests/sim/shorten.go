package sim

import (
	"slices"
	"time"
)

// Shorten removes the parts of a failing story that the failure does not need: first acts, then scenes and, if no act
// is needed, also the storm, clients and servers. fails runs a story, and returns the number of acts drawn until an
// invariant was violated and whether the failure is still the same. It is called at most tries times. left is the
// number of needed acts.
func Shorten(p Params, acts, tries int, fails func(Params) (int, bool)) (shortest Params, left int) {
	p.MaxActs = acts // later acts are not needed
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
		p.MaxActs = min(p.MaxActs, drawn)
		return true
	}
	without, unseen, all := p.SkippedActs, p.SkippedScenes, (&world{}).allScenes()
	needed := reduce(acts, func(keep []int) (int, bool) {
		done := shorter(func(p *Params) {
			p.SkippedActs = slices.Clone(without)
			for number := range acts {
				if _, kept := slices.BinarySearch(keep, number); !kept {
					p.SkippedActs = append(p.SkippedActs, number+1)
				}
			}
		})
		return p.MaxActs, done
	})
	reduce(len(all), func(keep []int) (int, bool) {
		done := shorter(func(p *Params) {
			p.SkippedScenes = slices.Clone(unseen)
			for i, scene := range all {
				if !slices.Contains(keep, i) {
					p.SkippedScenes = append(p.SkippedScenes, scene.name)
				}
			}
		})
		return len(all), done
	})
	if len(needed) > 0 {
		return p, len(needed) // the acts' numbers depend on the clients and servers
	}
	shorter(func(p *Params) { p.StormTime, p.Pace, p.SkippedActs, p.MaxActs = time.Minute, 10000*time.Hour, nil, 0 })
	for i := len(p.Clients) - 1; i >= 0; i-- {
		if !p.Clients[i].Honest {
			shorter(func(p *Params) { p.Clients = slices.Delete(slices.Clone(p.Clients), i, i+1) })
		}
	}
	for i := len(p.Servers) - 1; i >= 0 && len(p.Servers) > 2; i-- { // keep the honest server and one other
		if !p.Servers[i].Honest {
			shorter(func(p *Params) { p.Servers = slices.Delete(slices.Clone(p.Servers), i, i+1) })
		}
	}
	return p, 0
}

// reduce removes as many of n items as possible, in large pieces first, and returns the rest. fails runs the story with
// only the items in keep. It returns how many items matter, counted from the first, and whether the story still fails.
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

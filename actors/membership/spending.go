package membership

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/config"
	"goblin-actor/internal/policy"
)

// spending is what principals have spent at this node in the last rounds. Each beat repeats it, so that a lost beat loses
// nothing.
type spending struct {
	rounds [cluster.SpentRounds][]policy.Spent // the newest first
}

// push begins a round with what was spent since the last one.
func (s *spending) push(spent []policy.Spent) {
	copy(s.rounds[1:], s.rounds[:])
	s.rounds[0] = spent
}

// room returns how many principals fit in the next round.
func (s *spending) room() int {
	n := cluster.MaxSpent
	for _, round := range s.rounds[:len(s.rounds)-1] {
		n -= len(round)
	}
	return max(0, n)
}

// entries returns the last rounds in the form in which beats contain them.
func (s *spending) entries() (list []cluster.Spending) {
	at := map[policy.Spent]int{} // index in list, by principal and rate
	for age, round := range s.rounds {
		for _, spent := range round {
			key := policy.Spent{Principal: spent.Principal, Rate: spent.Rate}
			i, known := at[key]
			if !known {
				i = len(list)
				at[key], list = i, append(list, cluster.Spending{Principal: spent.Principal, Rate: spent.Rate.String()})
			}
			for len(list[i].Requests) <= age {
				list[i].Requests = append(list[i].Requests, 0)
			}
			list[i].Requests[age] += spent.Requests
		}
	}
	return list
}

// charge deducts what principals have spent at a peer since its last beat from what they may spend here.
func (s *state) charge(now time.Time, p *peer, b *cluster.Beat, out []kernel.Effect) []kernel.Effect {
	if len(b.Spent) == 0 || b.Round <= p.beat.Round || s.options.Rates == nil {
		return out
	}
	var list []policy.Spent
	for i := range b.Spent {
		e := &b.Spent[i]
		rate, err := config.ParseRate(e.Rate)
		if err != nil || rate.Requests == 0 {
			continue
		}
		n := 0
		for age, requests := range e.Requests {
			if b.Round > p.beat.Round+uint64(age) {
				n += requests
			}
		}
		if n > 0 {
			list = append(list, policy.Spent{Principal: e.Principal, Rate: rate, Requests: n})
		}
	}
	if len(list) == 0 {
		return out
	}
	return append(out, kernel.Act(charge{now, list}))
}

package policy

import (
	"time"

	"goblin-actor/internal/config"
)

// The nodes of a cluster share the rates of principals: each node has whole buckets, tells the others several times a
// second what was taken from them (TakeSpent), and takes from its own what was taken from theirs (Charge). A bucket that
// owes tokens admits nothing until it has paid. So a principal gets its rate, whichever nodes it uses. It can exceed the
// rate only once, by a burst for each further node, if it uses them all at the same moment, and then waits as long.

// maxDebt limits what a bucket owes, in bursts. A bucket cannot owe more than a burst for each other node of a cluster,
// unless their messages are wrong.
const maxDebt = 16

// Spent is what a principal has spent of its rate.
type Spent struct {
	Principal string // id
	Rate      config.Rate
	Requests  int
}

// spentList is what principals have spent since it was last taken. The zero value records nothing.
type spentList struct {
	on    bool
	list  []Spent        // in the order of the first request
	index map[string]int // position in list, by principal
}

// add records a request. Principals beyond maxBuckets are not recorded.
func (s *spentList) add(principal string, rate config.Rate) {
	if !s.on {
		return
	}
	i, known := s.index[principal]
	switch {
	case known:
		s.list[i].Rate = rate
		s.list[i].Requests++
	case len(s.list) < maxBuckets:
		s.index[principal] = len(s.list)
		s.list = append(s.list, Spent{principal, rate, 1})
	}
}

// ShareSpent begins to record what principals spend.
func (r *Rates) ShareSpent() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spent.on, r.spent.index = true, map[string]int{}
}

// TakeSpent returns what principals have spent since the last call, of at most that many principals. Later calls return
// the rest.
func (r *Rates) TakeSpent(most int) []Spent {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.spent.list
	if len(all) == 0 || most <= 0 {
		return nil
	}
	taken, rest := all[:min(most, len(all)):min(most, len(all))], all[min(most, len(all)):]
	r.spent.list = append([]Spent(nil), rest...)
	clear(r.spent.index)
	for i := range r.spent.list {
		r.spent.index[r.spent.list[i].Principal] = i
	}
	return taken
}

// Charge takes what principals have spent at another node from their buckets, which then may owe tokens.
func (r *Rates) Charge(now time.Time, spent []Spent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range spent {
		if s := &spent[i]; s.Rate.Requests > 0 && s.Rate.Per > 0 {
			r.buckets.charge(now, s.Principal, s.Rate, s.Requests)
		}
	}
}

// charge takes n tokens from the key's bucket, even if it has fewer.
func (b *Buckets[K]) charge(now time.Time, key K, limit config.Rate, n int) {
	of := b.buckets[key] // with the limit that this node has set, if it has set one
	if of == nil {
		if of = b.add(now, key, limit); of == nil {
			return
		}
	}
	burst := of.limit.Requests
	room := int(of.limiter.TokensAt(now)) + maxDebt*burst
	for n = min(n, room); n > 0; n -= burst {
		of.limiter.ReserveN(now, min(n, burst)) // accepted at once up to a burst, whatever the bucket owes
	}
}

package pool

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// The counters of subscriptions and queries agree with the tables, and no tenant exceeds its limit of queries.
func TestSubscriptionCounters(t *testing.T) {
	const limit = 3
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 2))
		all := newSubscriptions()
		key := func() subKey { return subKey{fmt.Sprint(rng.IntN(3)), fmt.Sprint(rng.IntN(5))} }
		for step := range uint64(200) {
			k := key()
			switch sub := all.byKey[k]; rng.IntN(4) {
			case 0:
				all.enqueue(k, all.add(k, nil))
			case 1:
				if sub != nil && sub.query == 0 {
					all.forget(k)
				}
			case 2:
				if next, sub := all.next(k.tenant, limit); sub != nil && sub.query == 0 {
					all.begin(step+1, query{key: next}, sub)
				}
			case 3:
				for q := range all.queries {
					ended, ok := all.end(q)
					if !ok {
						t.Fatalf("seed %d, step %d: query %d was not in progress", seed, step, q)
					}
					if sub := all.byKey[ended.key]; sub != nil {
						sub.query = 0
					}
					break
				}
			}
			subs, queries := map[string]int{}, map[string]int{}
			for k := range all.byKey {
				subs[k.tenant]++
			}
			for _, q := range all.queries {
				queries[q.key.tenant]++
			}
			for tenant := range 3 {
				name := fmt.Sprint(tenant)
				if all.perTenant[name] != subs[name] || all.queriesPerTenant[name] != queries[name] || queries[name] > limit {
					t.Fatalf("seed %d, step %d, tenant %s: %d subscriptions and %d queries counted, want %d and %d, at most %d",
						seed, step, name, all.perTenant[name], all.queriesPerTenant[name], subs[name], queries[name], limit)
				}
			}
			if len(all.perTenant) != len(subs) || len(all.queriesPerTenant) != len(queries) {
				t.Fatalf("seed %d, step %d: entries of zero are kept: %v, %v", seed, step, all.perTenant, all.queriesPerTenant)
			}
		}
	}
}

// A tenant's subscriptions take their turns in order, each once, and those that have ended are skipped.
func TestSubscriptionTurns(t *testing.T) {
	all := newSubscriptions()
	for _, uri := range []string{"a", "b", "c", "a"} {
		key := subKey{"t", uri}
		all.enqueue(key, all.add(key, nil))
	}
	all.forget(subKey{"t", "b"})
	if _, sub := all.next("t", 0); sub != nil {
		t.Error("a turn was taken beyond the limit of queries")
	}
	var order []string
	for {
		key, sub := all.next("t", 1)
		if sub == nil {
			break
		}
		order = append(order, key.uri)
	}
	if got := fmt.Sprint(order); got != "[a c]" {
		t.Errorf("turns %s, want [a c]", got)
	}
	if len(all.turns) != 0 {
		t.Errorf("kept turns: %v", all.turns)
	}
}

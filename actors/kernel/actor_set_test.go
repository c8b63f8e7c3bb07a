package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// An ActorSet behaves like a set ordered by age, and distinguishes actors with the same age 0.
func TestActorSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var all []Reference
	for i := range 40 {
		all = append(all, Reference{&cell{order: uint64(max(0, i-3))}})
	}
	all = append(all, Reference{})
	var crowd ActorSet
	in := map[Reference]bool{}
	for range 5000 {
		r := all[rng.IntN(len(all))]
		if was := in[r]; crowd.Has(r) != was {
			t.Fatalf("%v: Has %v, want %v", r.age(), !was, was)
		} else if rng.IntN(2) == 0 {
			crowd.Add(r)
			in[r] = true
		} else if crowd.Remove(r) != was {
			t.Fatalf("%v: Remove %v, want %v", r.age(), !was, was)
		} else {
			delete(in, r)
		}
		if crowd.Len() != len(in) || !slices.IsSortedFunc(crowd.All(), func(a, b Reference) int { return int(a.age()) - int(b.age()) }) {
			t.Fatalf("%d members %v, want %d, sorted by age", crowd.Len(), crowd.All(), len(in))
		}
	}
}

func BenchmarkActorSet(b *testing.B) {
	var crowd ActorSet
	for i := range 10000 {
		crowd.Add(Reference{&cell{order: uint64(i)}})
	}
	for b.Loop() {
		n := 0
		for _, r := range crowd.All() {
			if r.cell != nil {
				n++
			}
		}
	}
}

package policy

import (
	"fmt"
	"testing"
	"time"

	"goblin-actor/internal/config"
)

// node is a gateway whose spending the others learn every 200 ms, at a moment of its own.
type node struct {
	rates Rates
	next  time.Time
}

// admitted returns how many of the requests that pick deals to three nodes are admitted in 300 simulated seconds.
func admitted(rate string, perSecond float64, pick func(i int) int) (n int) {
	p := rated(map[string]string{"r": rate})
	start := time.Unix(1000, 0)
	nodes := make([]node, 3)
	for i := range nodes {
		nodes[i].rates.ShareSpent()
		nodes[i].rates.Use(p)
		nodes[i].next = start.Add(time.Duration(i*70) * time.Millisecond)
	}
	who := having("key:a", "r")
	for i := 0; ; i++ {
		now := start.Add(time.Duration(float64(i) / perSecond * float64(time.Second)))
		if now.Sub(start) >= 300*time.Second {
			return n
		}
		for a := range nodes {
			if now.Before(nodes[a].next) {
				continue
			}
			nodes[a].next = nodes[a].next.Add(200 * time.Millisecond)
			spent := nodes[a].rates.TakeSpent(10)
			for b := range nodes {
				if b != a {
					nodes[b].rates.Charge(now, spent)
				}
			}
		}
		if _, ok := nodes[pick(i)].rates.Allow(now, who); ok {
			n++
		}
	}
}

// Over 300 seconds, three nodes admit as many requests of a principal as one gateway, whichever nodes are asked.
func TestRatesOfThreeNodes(t *testing.T) {
	for _, rate := range []string{"60/min", "600/min", "10/s", "1000/h"} {
		for _, perSecond := range []float64{0.9, 3, 40, 500} {
			one := admitted(rate, perSecond, func(int) int { return 0 })
			for name, pick := range map[string]func(int) int{
				"in turn": func(i int) int { return i % 3 }, "at two": func(i int) int { return i % 2 },
				"at all, a while each": func(i int) int { return i / 100 % 3 },
			} {
				got := admitted(rate, perSecond, pick)
				if ratio := float64(got) / float64(one); ratio < 0.98 || ratio > 1.03 {
					t.Errorf("%s, %v requests a second, %s: %d admitted, by one gateway %d: %.3f", rate, perSecond, name, got, one, ratio)
				}
			}
		}
	}
	single := Rates{}
	single.Use(rated(map[string]string{"r": "60/min"}))
	alone := 0
	for i := range 3000 {
		if _, ok := single.Allow(time.Unix(1000, 0).Add(time.Duration(i)*100*time.Millisecond), having("key:a", "r")); ok {
			alone++
		}
	}
	if all := admitted("60/min", 10, func(int) int { return 1 }); all != alone {
		t.Errorf("all at one node: %d, a gateway alone: %d", all, alone)
	}
}

// A bucket that owes tokens says when it has paid. What it owes is bounded.
func TestDebt(t *testing.T) {
	var r Rates
	now := time.Unix(1000, 0)
	r.Use(rated(map[string]string{"r": "60/min"}))
	limit := config.Rate{Requests: 60, Per: time.Minute}
	r.Charge(now, []Spent{{"key:a", limit, 70}})
	if after, ok := r.Allow(now, having("key:a", "r")); ok || after != 11*time.Second {
		t.Errorf("with a debt of 10: %v, %v", after, ok)
	}
	for range 100 {
		r.Charge(now, []Spent{{"key:a", limit, 1_000_000}})
	}
	if after, ok := r.Allow(now, having("key:a", "r")); ok || after != (60*maxDebt+1)*time.Second {
		t.Errorf("with the largest debt: %v, %v", after, ok)
	}
	if left, most := r.Left(now, having("key:a", "r")); left != 0 || most != 60 {
		t.Errorf("left %d of %d", left, most)
	}
	r.Charge(now, []Spent{{"key:b", config.Rate{}, 1}, {"key:b", limit, -5}})
	if left, _ := r.Left(now, having("key:b", "r")); left != 60 {
		t.Errorf("left %d after a wrong charge", left)
	}
}

// TakeSpent returns every request once, those of the longest waiting principals first.
func TestTakeSpent(t *testing.T) {
	var r Rates
	now := time.Unix(1000, 0)
	r.Use(rated(map[string]string{"r": "1000/s"}))
	r.Allow(now, having("key:0", "r"))
	if got := r.TakeSpent(10); got != nil {
		t.Errorf("without a cluster %v was recorded", got)
	}
	r.ShareSpent()
	total := 0
	for i := range 1000 {
		r.Allow(now, having(fmt.Sprint("key:", i%7), "r"))
		if i%100 == 99 {
			for _, s := range r.TakeSpent(3) {
				total += s.Requests
			}
		}
	}
	for list := r.TakeSpent(3); list != nil; list = r.TakeSpent(3) {
		for _, s := range list {
			total += s.Requests
		}
	}
	if total != 1000 {
		t.Errorf("%d requests, want 1000", total)
	}
}

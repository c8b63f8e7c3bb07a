package stream

import (
	"sync"
	"testing"
)

func TestBudget(t *testing.T) {
	b := NewBudget(100)
	for _, step := range []struct {
		take, give int
		ok         bool
		used       int64
	}{
		{take: 60, ok: true, used: 60},
		{take: 41, ok: false, used: 60},
		{take: 40, ok: true, used: 100},
		{take: 1, ok: false, used: 100},
		{take: 0, ok: true, used: 100},
		{take: -5, ok: true, used: 100},
		{give: 100, ok: true, used: 0},
		{give: -1, ok: true, used: 0},
	} {
		ok := b.Take(step.take)
		b.Give(step.give)
		if ok != step.ok || b.Used() != step.used {
			t.Errorf("Take(%d), Give(%d) = %v, used %d; want %v, %d", step.take, step.give, ok, b.Used(), step.ok, step.used)
		}
	}
	var none *Budget
	if !none.Take(1<<40) || none.Used() != 0 {
		t.Error("a nil budget refuses or counts")
	}
	none.Give(5)
	if unlimited := NewBudget(0); !unlimited.Take(1<<40) || unlimited.Used() != 1<<40 {
		t.Error("no limit refuses or does not count")
	}
}

func TestBudgetConcurrent(t *testing.T) {
	b := NewBudget(1000)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 10_000 {
				if b.Take(300) {
					if used := b.Used(); used > 1000+7*300 {
						t.Errorf("used %d", used)
					}
					b.Give(300)
				}
			}
		})
	}
	all.Wait()
	if b.Used() != 0 {
		t.Errorf("used %d in the end", b.Used())
	}
}

// A client's responses use at most its share of the budget. The first one may be larger, and small ones are always accepted.
func TestBudgetShares(t *testing.T) {
	const mib = 1 << 20
	b := NewBudget(16 * mib)
	take := func(who string, size int, want bool) int {
		t.Helper()
		taken, ok := b.TakeAnswer(who, size)
		if ok != want {
			t.Errorf("%s takes %d with %d used: %v", who, size, b.Used(), ok)
		}
		return taken
	}
	first := take("slow", 5*mib, true)
	take("slow", mib, false)
	take("slow", smallAnswer, true)
	var others []int
	for range 3 {
		others = append(others, take("other", mib, true))
	}
	b.GiveAnswer("slow", first)
	b.GiveAnswer("slow", take("slow", 3*mib, true))
	for _, n := range others {
		b.GiveAnswer("other", n)
	}
	if b.GiveAnswer("slow", smallAnswer); b.Used() != 0 || len(b.accounts.used) != 0 {
		t.Errorf("after that: %d used, accounts %v", b.Used(), b.accounts.used)
	}
	full := NewBudget(mib)
	full.Take(mib)
	if taken, ok := full.TakeAnswer("a", smallAnswer); taken != 0 || !ok {
		t.Errorf("a small answer without budget: %d, %v", taken, ok)
	}
	if _, ok := full.TakeAnswer("a", smallAnswer+1); ok {
		t.Error("a large answer without budget")
	}
}

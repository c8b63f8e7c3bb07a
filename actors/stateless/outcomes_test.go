package stateless

import "testing"

// Answers are kept for retries. Their age, number and size are limited.
func TestOutcomesAreBounded(t *testing.T) {
	d := newStatelessScript(t, 1)
	keep := func(seq uint64, size int) { d.s.keep(d.now, outcome{seq: seq, frame: make([]byte, size)}, nil) }
	check := func(what string, bytes int, first uint64) {
		t.Helper()
		sum := 0
		for _, o := range d.s.outcomes.list {
			sum += len(o.frame)
		}
		if sum != bytes || d.s.outcomes.bytes != bytes || len(d.s.outcomes.list) > 0 && d.s.outcomes.list[0].seq != first {
			t.Errorf("%s: %d bytes, counted as %d, want %d; the oldest of %+v, want call %d", what, sum, d.s.outcomes.bytes, bytes, d.s.outcomes.list, first)
		}
	}
	keep(1, maxKept+1)
	check("too large", 0, 0)
	keep(2, maxKept/2)
	keep(3, maxKept/2)
	check("full", maxKept, 2)
	keep(4, 1)
	check("one more", maxKept/2+1, 3)
	d.now = d.now.Add(keepOutcome)
	d.step(tidy{})
	check("a minute later", 0, 0)
	for seq := range uint64(maxOutcomes + 2) {
		keep(10+seq, 1)
	}
	check("many small ones", maxOutcomes, 12)
}

// All outcomes share one timer, also when they displace each other.
func TestOutcomesShareATimer(t *testing.T) {
	d := newStatelessScript(t, 1)
	clocks := 0
	for seq := range uint64(5) {
		clocks += len(d.s.keep(d.now, outcome{seq: seq, frame: make([]byte, maxKept)}, nil))
	}
	if clocks != 1 {
		t.Errorf("%d timers are set", clocks)
	}
	if next := d.s.tidy(d.now.Add(keepOutcome), nil); len(next) != 0 || len(d.s.outcomes.list) != 0 {
		t.Errorf("%d outcomes are left, %d timers", len(d.s.outcomes.list), len(next))
	}
	if again := d.s.keep(d.now, outcome{}, nil); len(again) != 1 {
		t.Errorf("%d timers are set for the next, want one", len(again))
	}
}

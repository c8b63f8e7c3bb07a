package clientcalls

import (
	"testing"
	"time"

	"goblin-actor/actors/kernel"
)

var start = time.Unix(1000, 0)

// wake returns the delay and the message of the only timer that out sets, or 0 and nil if it sets none.
func wake(t *testing.T, out []kernel.Effect) (time.Duration, any) {
	t.Helper()
	switch len(out) {
	case 0:
		return 0, nil
	case 1:
		w := out[0].Act.(kernel.Wake)
		return w.After, w.Msg
	}
	t.Fatalf("%d timers are set", len(out))
	return 0, nil
}

func TestClockBy(t *testing.T) {
	var c clock
	for _, test := range []struct {
		name string
		at   time.Duration // after start; negative = never
		want time.Duration // until the new timer fires; negative = no timer is set
	}{
		{"no deadline", -1, -1},
		{"the first deadline", time.Minute, time.Minute},
		{"a later deadline", time.Hour, -1},
		{"the same deadline", time.Minute, -1},
		{"a deadline one nanosecond earlier", time.Minute - 1, time.Minute - 1},
	} {
		var at time.Time
		if test.at >= 0 {
			at = start.Add(test.at)
		}
		after, msg := wake(t, c.by(start, at, nil))
		if msg == nil {
			after = -1
		}
		if after != test.want {
			t.Errorf("%s: the timer fires after %v, want %v", test.name, after, test.want)
		}
	}
	if after, _ := wake(t, (&clock{}).by(start, start.Add(-time.Second), nil)); after != 0 {
		t.Errorf("a deadline in the past: the timer fires after %v, want at once", after)
	}
}

func TestClockFires(t *testing.T) {
	var c clock
	_, first := wake(t, c.by(start, start.Add(time.Minute), nil))
	_, second := wake(t, c.by(start, start.Add(time.Second), nil))
	now := start.Add(time.Second)
	if c.fired(now, first.(deadlineDue)) {
		t.Error("a timer that another has replaced counts")
	}
	if !c.fired(now, second.(deadlineDue)) {
		t.Fatal("the newest timer does not count")
	}
	if _, msg := wake(t, c.by(now, now.Add(time.Millisecond), nil)); msg != nil {
		t.Error("a call sets the timer while the deadlines are checked")
	}
	for _, test := range []struct {
		name     string
		calls    int
		earliest time.Duration // after now; negative = no call has a deadline
		want     time.Duration
	}{
		{"few calls", fewCalls, time.Millisecond, time.Millisecond},
		{"many calls", fewCalls + 1, time.Millisecond, coarseTimer},
		{"many calls, and none ends soon", fewCalls + 1, coarseTimer, coarseTimer},
		{"many calls, and none ends within the coarse timer", fewCalls + 1, coarseTimer + 1, coarseTimer + 1},
		{"no deadline", fewCalls + 1, -1, -1},
	} {
		c := clock{fires: now, gen: 5}
		var at time.Time
		if test.earliest >= 0 {
			at = now.Add(test.earliest)
		}
		after, msg := wake(t, c.next(now, at, test.calls, nil))
		if msg == nil {
			after = -1
		}
		if after != test.want {
			t.Errorf("%s: the timer fires after %v, want %v", test.name, after, test.want)
		}
	}
}

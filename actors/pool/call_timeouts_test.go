package pool

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
)

// timeOut applies msg. It returns the number of timeouts in each warning that is logged, and the timers that start.
func (w *world) timeOut(msg any) (warned []int, timers []kernel.Wake) {
	for _, e := range step(w.s, w.now, msg, nil) {
		switch a := e.Act.(type) {
		case kernel.Wake:
			if _, is := a.Msg.(timeoutsDue); is {
				timers = append(timers, a)
			}
		case kernel.Logged:
			if a.Level == slog.LevelWarn {
				warned = append(warned, a.Args[1].(int))
			}
		}
	}
	return warned, timers
}

// The first timeout is logged at once, further ones once a minute with their number. The status shows them for ten minutes.
func TestTimeoutsAreLoggedAndShown(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	w.phase(0, message.Ready)
	cancel := message.Cancel{TimedOut: true}
	if warned, timers := w.timeOut(cancel); !slices.Equal(warned, []int{1}) || len(timers) != 0 {
		t.Fatalf("first: warned %v, timers %v; want one warning of 1", warned, timers)
	}
	w.now = w.now.Add(20 * time.Second)
	warned, timers := w.timeOut(cancel)
	if len(warned) != 0 || len(timers) != 1 || timers[0].After != 40*time.Second {
		t.Fatalf("second: warned %v, timers %v; want a timer of 40s", warned, timers)
	}
	w.timeOut(cancel)
	w.now = w.now.Add(40 * time.Second)
	if warned, again := w.timeOut(timers[0].Msg); !slices.Equal(warned, []int{2}) || len(again) != 0 {
		t.Fatalf("timer: warned %v, timers %v; want one warning of 2", warned, again)
	}
	if warned, _ := w.timeOut(timers[0].Msg); len(warned) != 0 {
		t.Errorf("an old timer warned: %v", warned)
	}
	r := w.s.report()
	const want = "3 calls timed out in the last 10 minutes, the last one 40s ago"
	if r.TimedOut != 3 || !slices.Contains(r.Warnings, want) || r.State != string(message.Syncing) && r.State != string(message.Ready) {
		t.Errorf("status: %d timed out, state %s, warnings %q; want 3 and %q", r.TimedOut, r.State, r.Warnings, want)
	}
	w.now = w.now.Add(timeoutsShown - 40*time.Second)
	w.step(message.SetLevel{})
	if r := w.s.report(); r.TimedOut != 0 || len(r.Warnings) != 0 {
		t.Errorf("ten minutes later: %d timed out, warnings %q", r.TimedOut, r.Warnings)
	}
}

// Only calls that timed out are counted, and at most maxTimeouts are remembered.
func TestTimeoutsAreLimited(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	w.step(message.Cancel{})
	if r := w.s.report(); r.TimedOut != 0 {
		t.Errorf("a canceled call counts as %d timeouts", r.TimedOut)
	}
	for range 3 * maxTimeouts {
		w.step(message.Cancel{TimedOut: true})
	}
	if n := len(w.s.calls.timeouts.recent); n != maxTimeouts {
		t.Errorf("%d timeouts are remembered, want %d", n, maxTimeouts)
	}
}

package pool

import (
	"slices"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
)

// wakeups applies msg and returns the timers that it starts.
func (w *world) wakeups(msg any) (timers []kernel.Wake) {
	for _, e := range step(w.s, w.now, msg, nil) {
		if wake, ok := e.Act.(kernel.Wake); ok {
			timers = append(timers, wake)
		}
	}
	return timers
}

// The timer of a retiring connection names that connection. After several restarts, its number is not that of its replica.
func TestRetireTimerNamesItsConnection(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue, StartTimeout: time.Minute}, 2)
	w.seen(1)
	w.seen(2)
	var timed []int
	for _, timer := range w.wakeups(message.Restart{}) {
		if due, ok := timer.Msg.(retireDue); ok {
			timed = append(timed, due.number)
			if timer.After != time.Minute {
				t.Errorf("connection %d retires after %v, want %v", due.number, timer.After, time.Minute)
			}
		}
	}
	if !slices.Equal(timed, []int{1, 2}) {
		t.Fatalf("timers of connections %v, want 1 and 2", timed)
	}
	w.is("before the timers", w.drained(), nil)
	w.step(retireDue{2})
	w.is("after the timer of 2", w.drained(), []int{2})
	w.step(retireDue{1})
	w.is("after both", w.drained(), []int{1, 2})
}

// A timer that was replaced by a newer one does nothing.
func TestReplacedTimersDoNothing(t *testing.T) {
	w := newWorld(t, config.Server{MaxConcurrent: 1, Queue: queue, Startup: startupLazy, IdleStop: time.Minute}, 1)
	w.seen(1)
	w.dispatch(0)
	w.dispatch(1)
	w.now = w.now.Add(time.Hour)
	for name, old := range map[string]any{
		"queue":     queueExpired{w.s.calls.queue.timer.number - 1},
		"autoLease": autoLeaseDue{w.s.calls.autoLease.timer - 1},
		"pause":     pauseDue{w.s.calls.pauses.timer - 1},
		"idle":      idleDue{w.s.idle.timer - 1},
	} {
		if effects := step(w.s, w.now, old, nil); len(effects) != 0 {
			t.Errorf("%s: an old timer has the effects %v", name, effects)
		}
	}
	if len(w.failed) != 0 {
		t.Errorf("calls failed: %v", w.failed)
	}
}

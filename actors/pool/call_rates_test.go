package pool

import (
	"testing"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// called dispatches a call of a tool that may be called twice a minute, and reports whether it was let through.
func (w *world) called(seq uint64, principal, client, item string) bool {
	w.t.Helper()
	w.step(message.Dispatch{Call: message.CallRef{Seq: seq}, Request: &message.Request{Server: "fake", Item: item, Rate: config.Rate{Requests: 2, Per: time.Minute},
		Caller: &message.Caller{Principal: principal, ClientKey: client}}})
	f := w.failed[seq]
	if f == nil {
		w.end(seq)
		return true
	}
	if f.Name != protocol.RateLimited || f.RetryAfter <= 0 || f.RetryAfter > time.Minute || !f.Retryable || f.Code(protocol.EraModern) != -31014 || f.Status(protocol.EraModern) != 429 {
		w.t.Fatalf("refused with %+v", f)
	}
	return false
}

// Calls of a tool are limited for each principal and each tool, and a moment after the pause that is told there is room for one more.
func TestToolRates(t *testing.T) {
	w := newWorld(t, config.Server{Queue: wide}, 1)
	w.phase(0, message.Ready)
	for i, c := range []struct {
		principal, item string
		after           time.Duration
		want            bool
	}{
		{"key:a", "x", 0, true}, {"key:a", "x", 0, true}, {"key:a", "x", 0, false}, {"key:a", "y", 0, true}, {"key:b", "x", 0, true}, {"", "x", 0, true},
		{"key:a", "x", 30*time.Second - time.Nanosecond, false}, {"key:a", "x", time.Nanosecond, true}, {"key:a", "x", 0, false},
		{"key:a", "x", time.Hour, true}, {"key:a", "x", 0, true}, {"key:a", "x", 0, false},
	} {
		w.after(c.after)
		if got := w.called(uint64(i+1), c.principal, "one", c.item); got != c.want {
			t.Fatalf("call %d of %s by %q: %v", i, c.item, c.principal, got)
		}
	}
}

// A policy that only reports lets calls through that are too many.
func TestToolRatesThatAreReported(t *testing.T) {
	w := newWorld(t, config.Server{Queue: wide}, 1)
	w.phase(0, message.Ready)
	for seq := range uint64(5) {
		r := &message.Request{Server: "fake", Item: "x", Rate: config.Rate{Requests: 2, Per: time.Minute}, RateReports: true, Caller: &message.Caller{Principal: "key:a"}}
		w.step(message.Dispatch{Call: message.CallRef{Seq: seq}, Request: r})
		if _, sent := w.sent[seq]; !sent || w.failed[seq] != nil {
			t.Fatalf("call %d is not let through: %v", seq, w.failed[seq])
		}
		w.end(seq)
	}
}

// Somebody opens many connections, so that each has a rate of its own.
func TestAttack56RateOverManyConnections(t *testing.T) {
	w := newWorld(t, config.Server{Queue: wide}, 1)
	w.phase(0, message.Ready)
	through := 0
	for i := range uint64(100) {
		if w.called(i+1, "key:a", string(rune('a'+i)), "x") {
			through++
		}
	}
	if through != 2 {
		t.Errorf("%d calls over a hundred connections, want 2", through)
	}
}

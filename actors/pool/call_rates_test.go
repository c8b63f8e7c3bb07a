package pool

import (
	"testing"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// called dispatches a call of a tool with a rate of two per minute, and reports whether it was sent.
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
		w.t.Fatalf("fault %+v, want RATE_LIMITED", f)
	}
	return false
}

// Calls are limited for each principal and each tool. Another call is allowed after the reported pause, and not before.
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
			t.Fatalf("call %d of %s by %q: sent %v", i, c.item, c.principal, got)
		}
	}
}

// A policy in report-only mode does not refuse calls over the limit.
func TestReportOnlyToolRates(t *testing.T) {
	w := newWorld(t, config.Server{Queue: wide}, 1)
	w.phase(0, message.Ready)
	for seq := range uint64(5) {
		r := &message.Request{Server: "fake", Item: "x", Rate: config.Rate{Requests: 2, Per: time.Minute}, RateReports: true, Caller: &message.Caller{Principal: "key:a"}}
		w.step(message.Dispatch{Call: message.CallRef{Seq: seq}, Request: r})
		if _, sent := w.sent[seq]; !sent || w.failed[seq] != nil {
			t.Fatalf("call %d was refused: %v", seq, w.failed[seq])
		}
		w.end(seq)
	}
}

// A principal cannot get around its rate limit by using many connections.
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
		t.Errorf("%d calls sent over a hundred connections, want 2", through)
	}
}

package pool

import (
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
)

// leaseTimers applies a message and returns the autoLease timers that it starts.
func (w *world) leaseTimers(msg any) (timers []kernel.Wake) {
	for _, e := range step(w.s, w.now, msg, nil) {
		if m, is := e.Msg.(message.Send); is {
			w.sent[m.Call.Seq] = e.To
		}
		if wake, ok := e.Act.(kernel.Wake); ok {
			if _, is := wake.Msg.(autoLeaseDue); is {
				timers = append(timers, wake)
			}
		}
	}
	return timers
}

// After a server request that does not name its call, each connection runs only one call at a time, not counting parked
// calls. A request that names its call has no such effect.
func TestOneCallAtATimeAfterAnUnattributedRequest(t *testing.T) {
	for name, c := range map[string]struct {
		unattributed bool
		want         int // number of calls that were sent to the server, including the parked one
	}{"names no call": {true, 2}, "names its call": {false, 3}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, config.Server{Isolation: "shared", Queue: queue}, 1)
			w.phase(0, message.Ready)
			w.dispatch(0)
			if c.unattributed {
				w.step(message.UnattributedRequest{Backend: w.backends[0]})
			}
			w.step(message.CallParked{Backend: w.backends[0], Yes: true})
			w.dispatch(1)
			w.dispatch(2)
			if len(w.sent) != c.want {
				t.Errorf("%d calls run, want %d", len(w.sent), c.want)
			}
		})
	}
}

// The limit is lifted a minute after the last unattributed request, and the calls that waited are sent. The next limit
// lasts twice as long.
func TestAutoLeaseEnds(t *testing.T) {
	w := newWorld(t, config.Server{Isolation: "shared", Queue: config.Queue{Size: 8, Timeout: time.Hour}}, 1)
	w.phase(0, message.Ready)
	w.dispatch(0)
	unattributed := message.UnattributedRequest{Backend: w.backends[0]}
	timers := w.leaseTimers(unattributed)
	if len(timers) != 1 || timers[0].After != firstAutoLease {
		t.Fatalf("timers %v, want one of %v", timers, firstAutoLease)
	}
	w.dispatch(1)
	w.now = w.now.Add(firstAutoLease / 2)
	if again := w.leaseTimers(unattributed); len(again) != 0 {
		t.Fatalf("timers %v after another request, want no second one", again)
	}
	w.now = w.now.Add(firstAutoLease / 2)
	timers = w.leaseTimers(timers[0].Msg)
	if len(timers) != 1 || timers[0].After != firstAutoLease/2 || len(w.sent) != 1 {
		t.Fatalf("timers %v, %d calls sent; want one of %v and 1", timers, len(w.sent), firstAutoLease/2)
	}
	w.step(message.CallParked{Backend: w.backends[0], Call: message.CallRef{Seq: 0}, Yes: true})
	w.now = w.now.Add(firstAutoLease / 2)
	waits := w.leaseTimers(timers[0].Msg)
	if len(waits) != 1 || waits[0].After != firstAutoLease || !w.s.isLeased() {
		t.Fatalf("timers %v while a call waits for its client, want one of %v", waits, firstAutoLease)
	}
	w.step(message.CallParked{Backend: w.backends[0], Call: message.CallRef{Seq: 0}})
	w.dispatch(2)
	w.now = w.now.Add(firstAutoLease)
	if w.leaseTimers(timers[0].Msg); !w.s.isLeased() {
		t.Fatal("an older timer lifted the limit")
	}
	if again := w.leaseTimers(waits[0].Msg); len(again) != 0 || len(w.sent) != 3 || w.s.isLeased() {
		t.Fatalf("at its end: timers %v, %d calls sent, leased %v; want none, 3, false", again, len(w.sent), w.s.isLeased())
	}
	for want := 2 * firstAutoLease; want < 2*longestAutoLease; want *= 2 {
		timers = w.leaseTimers(unattributed)
		if len(timers) != 1 || timers[0].After != min(want, longestAutoLease) {
			t.Fatalf("timers %v, want one of %v", timers, min(want, longestAutoLease))
		}
		w.now = w.now.Add(timers[0].After)
		w.leaseTimers(timers[0].Msg)
	}
}

// A replaced server starts without the limit, and timers that were started for the old one are ignored.
func TestReplacedServerIsNotLeased(t *testing.T) {
	w := newWorld(t, config.Server{Command: "x", Isolation: "shared", Queue: queue}, 1)
	w.phase(0, message.Ready)
	timers := w.leaseTimers(message.UnattributedRequest{Backend: w.backends[0]})
	other := w.s.server
	other.Command = "y"
	w.step(message.Reconfigure{Server: other, Transport: true})
	if w.s.isLeased() {
		t.Error("the new server is limited to one call at a time")
	}
	w.step(message.UnattributedRequest{Backend: w.backends[0]})
	w.now = w.now.Add(firstAutoLease)
	if w.step(timers[0].Msg); !w.s.isLeased() {
		t.Error("the old server's timer lifted the new one's limit")
	}
}

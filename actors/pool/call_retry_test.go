package pool

import (
	"slices"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// A call whose client has left, and which no server has seen, ends: nobody else executes it. What it held is free.
func TestACancelledCallComesBack(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue, MaxConcurrent: 1}, 2)
	w.phase(0, message.Ready)
	w.phase(1, message.Ready)
	w.dispatch(7)
	w.dispatch(8)
	w.step(message.Cancel{Call: message.CallRef{Seq: 7}, Reason: "no longer wanted"})
	w.giveBack(7)
	if at, sent := w.sent[7]; sent {
		t.Errorf("it is at %v", at)
	}
	if _, sent := w.sent[8]; !sent {
		t.Error("the call behind it does not follow")
	}
}

// Replicas that cannot be reached do not pass a call on to each other without end.
func TestACallThatNobodyTakes(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue, MaxConcurrent: 1}, 3)
	for i := range w.backends {
		w.phase(i, message.Ready)
	}
	w.dispatch(7)
	w.dispatch(8)
	var at []kernel.Reference
	for range w.backends {
		if slices.Contains(at, w.sent[7]) {
			t.Fatal("a replica got it twice")
		}
		at = append(at, w.sent[7])
		w.giveBack(7)
	}
	w.fault(7, protocol.NoBackendsAvailable)
	if _, sent := w.sent[8]; !sent {
		t.Error("the call behind it does not follow")
	}
}

// What a backend had no room for comes back to its pool, which counts it and says so.
func TestSendsThatAreRefused(t *testing.T) {
	w := newWorld(t, config.Server{Queue: config.Queue{Size: 2, Timeout: time.Second}}, 1)
	w.phase(0, message.Ready)
	w.dispatch(7)
	at := w.sent[7]
	delete(w.sent, 7)
	w.step(message.NotExecuted{Backend: at, Call: message.CallRef{Seq: 7}, Request: &message.Request{Caller: &message.Caller{}, Server: "fake"}, Full: true})
	w.fault(7, protocol.QueueFull)
	if n := len(w.s.calls.running); n != 0 {
		t.Errorf("%d calls run", n)
	}
}

// A pool that has been restarted knows nothing of a call that comes back: its client is told all the same, and may call again.
func TestACallFromBeforeARestartComesBack(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	w.phase(0, message.Ready)
	w.step(message.NotExecuted{Backend: w.backends[0], Call: message.CallRef{Seq: 7}, Request: &message.Request{Caller: &message.Caller{}, Server: "fake"}, Reason: "it stopped"})
	w.fault(7, protocol.ServerUnavailable)
	if _, sent := w.sent[7]; sent {
		t.Error("it is sent again")
	}
}

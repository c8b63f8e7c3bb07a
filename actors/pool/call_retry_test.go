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

// A canceled call that was not executed is not sent to another backend, and its slot is free.
func TestCancelledCallIsNotRetried(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue, MaxConcurrent: 1}, 2)
	w.phase(0, message.Ready)
	w.phase(1, message.Ready)
	w.dispatch(7)
	w.dispatch(8)
	w.step(message.Cancel{Call: message.CallRef{Seq: 7}, Reason: "no longer wanted"})
	w.giveBack(7)
	if at, sent := w.sent[7]; sent {
		t.Errorf("the canceled call is at replica %v", at)
	}
	if _, sent := w.sent[8]; !sent {
		t.Error("the next queued call was not sent")
	}
}

// Each unreachable replica gets a call once, so that replicas do not pass it to each other forever.
func TestEachReplicaIsTriedOnce(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue, MaxConcurrent: 1}, 3)
	for i := range w.backends {
		w.phase(i, message.Ready)
	}
	w.dispatch(7)
	w.dispatch(8)
	var at []kernel.Reference
	for range w.backends {
		if slices.Contains(at, w.sent[7]) {
			t.Fatal("a replica got the call twice")
		}
		at = append(at, w.sent[7])
		w.giveBack(7)
	}
	w.fault(7, protocol.NoBackendsAvailable)
	if _, sent := w.sent[8]; !sent {
		t.Error("the next queued call was not sent")
	}
}

// A call for which a backend has no room returns to the pool and fails with QUEUE_FULL.
func TestSendToAFullBackend(t *testing.T) {
	w := newWorld(t, config.Server{Queue: config.Queue{Size: 2, Timeout: time.Second}}, 1)
	w.phase(0, message.Ready)
	w.dispatch(7)
	at := w.sent[7]
	delete(w.sent, 7)
	w.step(message.NotExecuted{Backend: at, Call: message.CallRef{Seq: 7}, Request: &message.Request{Caller: &message.Caller{}, Server: "fake"}, Full: true})
	w.fault(7, protocol.QueueFull)
	if n := len(w.s.calls.running); n != 0 {
		t.Errorf("%d running calls, want 0", n)
	}
}

// A call that returns after a restart of the pool is unknown to it. It fails with SERVER_UNAVAILABLE and is not sent
// again.
func TestCallReturnsAfterARestart(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	w.phase(0, message.Ready)
	w.step(message.NotExecuted{Backend: w.backends[0], Call: message.CallRef{Seq: 7}, Request: &message.Request{Caller: &message.Caller{}, Server: "fake"}, Reason: "it stopped"})
	w.fault(7, protocol.ServerUnavailable)
	if _, sent := w.sent[7]; sent {
		t.Error("the call was sent again")
	}
}

package pool

import (
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// lost reports that a connection was lost or an attempt has failed, and that the next attempt follows after the pause.
func (w *world) lost(i int, pause time.Duration, reason string) {
	w.step(message.BackendChanged{Backend: w.backends[i], Replica: i, Phase: message.Waiting, Reason: reason, NextAttempt: w.now.Add(pause)})
}

func (w *world) after(d time.Duration) { w.now = w.now.Add(d) }

// Requirement S3.2.3: calls wait during the first attempt after a loss and fail if it fails, as do further calls. The error says
// why the server is unavailable and since when.
func TestCallsWaitForTheFirstAttemptAfterALoss(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	w.phase(0, message.Ready)
	w.lost(0, 0, "signal: killed")
	w.dispatch(0)
	w.phase(0, message.Connecting)
	w.dispatch(1)
	w.after(3 * time.Second)
	if len(w.failed) != 0 {
		t.Fatalf("failed during the first attempt: %v", w.failed[0])
	}
	w.lost(0, 500*time.Millisecond, "exit status 1")
	for seq := range uint64(2) {
		f := w.fault(seq, protocol.ServerUnavailable)
		if want := "unavailable for 3s: waiting (exit status 1)"; !strings.Contains(f.Message, want) || f.RetryAfter != 500*time.Millisecond {
			t.Errorf("got %q, retry after %s; want %q", f.Message, f.RetryAfter, want)
		}
	}
	w.phase(0, message.Connecting)
	w.phase(0, message.Handshaking)
	w.after(2 * time.Second)
	w.dispatch(2)
	if f, want := w.fault(2, protocol.ServerUnavailable), "unavailable for 5s: handshaking for 2s: waiting for the response to the handshake; previous failure: exit status 1"; !strings.HasSuffix(f.Message, want) {
		t.Errorf("during the second attempt: got %q, want %q", f.Message, want)
	}
	w.phase(0, message.Ready)
	w.dispatch(3)
	if _, ok := w.sent[3]; !ok {
		t.Error("the call after the recovery was not sent")
	}
}

// Requirement S3.2.3: during a pause before the first attempt calls fail at once; after it they wait.
func TestCallsFailWhileTheFirstAttemptPauses(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	w.phase(0, message.Ready)
	w.lost(0, time.Second, "EOF")
	w.dispatch(0)
	w.fault(0, protocol.ServerUnavailable)
	w.after(time.Second)
	w.phase(0, message.Connecting)
	w.dispatch(1)
	w.phase(0, message.Ready)
	if _, ok := w.sent[1]; !ok {
		t.Error("the call did not wait for the attempt")
	}
}

// Requirement S4.3.3: calls wait while one replica may still become ready, and fail when all have failed.
func TestAllReplicasFailed(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 2)
	w.phase(0, message.Handshaking)
	w.dispatch(0)
	w.lost(0, time.Minute, "exit status 1")
	if len(w.failed) != 0 {
		t.Fatal("the call failed although the other replica may still become ready")
	}
	w.lost(1, time.Minute, "exit status 2")
	if f := w.fault(0, protocol.NoBackendsAvailable); !strings.Contains(f.Message, "waiting (exit status 1); waiting (exit status 2)") {
		t.Errorf("got %q", f.Message)
	}
}

// A call that was not written before its connection ended waits for the next one and keeps its deadline.
func TestUnwrittenCallWaitsForTheNextConnection(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue, MaxConcurrent: 1}, 1)
	lose := func(seq uint64) {
		delete(w.sent, seq)
		w.step(message.NotExecuted{Backend: w.backends[0], Call: message.CallRef{Seq: seq}, Request: &message.Request{Caller: &message.Caller{}, Server: "fake"}, Reason: "closed", Lost: true})
	}
	w.phase(0, message.Ready)
	w.dispatch(0)
	w.dispatch(1) // its queue deadline is Unix time 1010
	w.after(2 * time.Second)
	w.end(0)
	lose(1)
	w.dispatch(2)
	if len(w.sent) != 0 || len(w.failed) != 0 {
		t.Fatalf("sent %v, failed %v before the loss was reported", w.sent, w.failed)
	}
	w.lost(0, 0, "closed")
	w.phase(0, message.Handshaking)
	w.after(8 * time.Second)
	w.step(w.expire[len(w.expire)-1])
	if f := w.fault(1, protocol.QueueTimeout); !strings.Contains(f.Message, "was not ready within 10s (queue.timeout): handshaking for 8s: waiting for the response to the handshake") {
		t.Errorf("got %q", f.Message)
	}
	w.phase(0, message.Ready)
	if _, ok := w.sent[2]; !ok || len(w.failed) != 1 {
		t.Errorf("sent %v, failed %v", w.sent, w.failed)
	}
}

// A call that a lost connection returned fails if the next attempt follows only after a pause.
func TestUnwrittenCallFailsWithTheOthers(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	w.phase(0, message.Ready)
	w.dispatch(0)
	delete(w.sent, 0)
	w.step(message.NotExecuted{Backend: w.backends[0], Call: message.CallRef{}, Request: &message.Request{Caller: &message.Caller{}, Server: "fake"}, Reason: "closed", Lost: true})
	w.lost(0, time.Second, "closed")
	w.fault(0, protocol.ServerUnavailable)
}

// Subscribers wait for a server as calls do. They get an error if the server does not become ready, or not in time.
func TestSubscribersWaitForTheServer(t *testing.T) {
	w := newSubscribers(t, 1)
	attempt := func() {
		w.do(message.BackendChanged{Backend: w.backends[0], Phase: message.Waiting, NextAttempt: w.now})
		w.told = nil
	}
	attempt()
	w.subscribe(0, 1, "a")
	w.want()
	w.phase(0, message.Connecting)
	w.do(message.BackendChanged{Backend: w.backends[0], Phase: message.Ready, Info: &message.ServerInfo{}})
	w.want("resources/subscribe a at 0")
	w.answer("a", true)
	attempt()
	w.subscribe(0, 2, "b")
	w.subscribe(1, 3, "a")
	w.after(10*time.Second - 1)
	w.do(subscribesDue{})
	w.want()
	w.after(1)
	w.do(subscribesDue{})
	w.want("answer 3: false", "answer 2: false")
	if sub := w.s.subscriptions.byKey[subKey{uri: "a"}]; sub == nil || w.s.subscriptions.byKey[subKey{uri: "b"}] != nil || sub.subscribers.Has(w.who[1]) {
		t.Error("a refused subscriber was kept, or an earlier subscriber was removed")
	}
	w.told = nil
	w.subscribe(0, 4, "b")
	w.lose(0)
	w.want("answer 4: false")
}

// Subscribers do not wait for a backend that has stopped for good.
func TestSubscribersOfAStoppedBackend(t *testing.T) {
	w := newSubscribers(t, 1)
	w.do(message.BackendChanged{Backend: w.backends[0], Phase: message.Waiting, NextAttempt: w.now})
	w.subscribe(0, 1, "a")
	w.do(kernel.ChildStopped{Child: w.backends[0]})
	w.want("answer 1: false")
}

// A starting server's status says what it waits for if that takes long. A failed server's status keeps its reason and the
// last line on stderr until the server is ready. Clients do not see the line.
func TestStatusKeepsTheLastFailure(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	shows := func(when, reason string, fault bool) {
		t.Helper()
		w.step(message.Inspect{Reply: func(any) {}})
		if r := w.s.report(); r.Reason != reason || r.Fault != fault {
			t.Errorf("%s: %q, fault %v; want %q, %v", when, r.Reason, r.Fault, reason, fault)
		}
	}
	w.phase(0, message.Handshaking)
	shows("just started", "", false)
	w.after(12 * time.Second)
	shows("hangs", "waiting for the response to the handshake for 12s", true)
	w.step(message.BackendChanged{Backend: w.backends[0], Phase: message.Waiting, Reason: "exit status 1", LastLine: "E404", NextAttempt: w.now.Add(time.Second)})
	shows("failed", "exit status 1; stderr: E404", true)
	w.step(message.RequestConnect{Backend: w.backends[0]})
	shows("waits for a start slot", "waiting for other servers to start (limits.startsAtOnce); previous failure: exit status 1; stderr: E404", true)
	w.step(message.StartSlotGranted{Number: 1})
	w.phase(0, message.Connecting)
	shows("next attempt", "waiting for the connection; previous failure: exit status 1; stderr: E404", true)
	w.phase(0, message.Syncing)
	w.after(time.Minute)
	shows("hangs again", "waiting for the server's lists for 1m0s; previous failure: exit status 1; stderr: E404", true)
	w.dispatch(1)
	if f := w.fault(1, protocol.ServerUnavailable); strings.Contains(f.Message, "E404") || !strings.Contains(f.Message, "exit status 1") {
		t.Errorf("fault for clients: %q", f.Message)
	}
	w.phase(0, message.Ready)
	w.step(message.ConfirmResult{Key: 1})
	shows("ready", "", false)
}

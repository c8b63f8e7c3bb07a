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

// lost tells of a connection that has ended, or an attempt that has failed, and of the next attempt after a pause.
func (w *world) lost(i int, pause time.Duration, reason string) {
	w.step(message.BackendChanged{Backend: w.backends[i], Replica: i, Phase: message.Waiting, Reason: reason, NextAttempt: w.now.Add(pause)})
}

func (w *world) after(d time.Duration) { w.now = w.now.Add(d) }

// S3.2.3: calls wait while the first attempt after a loss is under way, and fail as soon as it has failed, those that waited too; the error
// says since when and why.
func TestCallsWaitForTheFirstAttemptAfterALoss(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	w.phase(0, message.Ready)
	w.lost(0, 0, "signal: killed")
	w.dispatch(0)
	w.phase(0, message.Connecting)
	w.dispatch(1)
	w.after(3 * time.Second)
	if len(w.failed) != 0 {
		t.Fatalf("failed while the first attempt was under way: %v", w.failed[0])
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
	if f, want := w.fault(2, protocol.ServerUnavailable), "unavailable for 5s: handshaking for 2s: waits for the answer to initialize; before: exit status 1"; !strings.HasSuffix(f.Message, want) {
		t.Errorf("in the second attempt: got %q, want %q", f.Message, want)
	}
	w.phase(0, message.Ready)
	w.dispatch(3)
	if _, ok := w.sent[3]; !ok {
		t.Error("it did not recover")
	}
}

// S3.2.3: a pause before the first attempt is no attempt: calls fail at once in it, and wait when it is over.
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

// S4.3.3: calls wait for the last of several replicas, and fail when its attempt has failed, too.
func TestAllReplicasFailed(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 2)
	w.phase(0, message.Handshaking)
	w.dispatch(0)
	w.lost(0, time.Minute, "exit status 1")
	if len(w.failed) != 0 {
		t.Fatal("the other replica may come yet")
	}
	w.lost(1, time.Minute, "exit status 2")
	if f := w.fault(0, protocol.NoBackendsAvailable); !strings.Contains(f.Message, "waiting (exit status 1); waiting (exit status 2)") {
		t.Errorf("got %q", f.Message)
	}
}

// A call that was not written before its connection ended waits for the next one, with the deadline that it had.
func TestUnwrittenCallWaitsForTheNextConnection(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue, MaxConcurrent: 1}, 1)
	lose := func(seq uint64) {
		delete(w.sent, seq)
		w.step(message.NotExecuted{Backend: w.backends[0], Call: message.CallRef{Seq: seq}, Request: &message.Request{Caller: &message.Caller{}, Server: "fake"}, Reason: "closed", Lost: true})
	}
	w.phase(0, message.Ready)
	w.dispatch(0)
	w.dispatch(1) // waits until 1010
	w.after(2 * time.Second)
	w.end(0)
	lose(1)
	w.dispatch(2)
	if len(w.sent) != 0 || len(w.failed) != 0 {
		t.Fatalf("sent %v, failed %v before the news of the loss", w.sent, w.failed)
	}
	w.lost(0, 0, "closed")
	w.phase(0, message.Handshaking)
	w.after(8 * time.Second)
	w.step(w.expire[len(w.expire)-1])
	if f := w.fault(1, protocol.QueueTimeout); !strings.Contains(f.Message, "was not ready within 10s (queue.timeout): handshaking for 8s: waits for the answer to initialize") {
		t.Errorf("got %q", f.Message)
	}
	w.phase(0, message.Ready)
	if _, ok := w.sent[2]; !ok || len(w.failed) != 1 {
		t.Errorf("sent %v, failed %v", w.sent, w.failed)
	}
}

// A call that a lost connection gave back fails with the rest when nothing comes of it.
func TestUnwrittenCallFailsWithTheRest(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	w.phase(0, message.Ready)
	w.dispatch(0)
	delete(w.sent, 0)
	w.step(message.NotExecuted{Backend: w.backends[0], Call: message.CallRef{}, Request: &message.Request{Caller: &message.Caller{}, Server: "fake"}, Reason: "closed", Lost: true})
	w.lost(0, time.Second, "closed")
	w.fault(0, protocol.ServerUnavailable)
}

// Who subscribes waits for a server as a call does: it is asked when it is ready; when it does not come, or not in time, that is the answer.
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
		t.Error("who was told no is kept, or who was subscribed before is not")
	}
	w.told = nil
	w.subscribe(0, 4, "b")
	w.lose(0)
	w.want("answer 4: false")
}

// A backend that has stopped for good is not waited for.
func TestSubscribersOfABackendThatHasStopped(t *testing.T) {
	w := newSubscribers(t, 1)
	w.do(message.BackendChanged{Backend: w.backends[0], Phase: message.Waiting, NextAttempt: w.now})
	w.subscribe(0, 1, "a")
	w.do(kernel.ChildStopped{Child: w.backends[0]})
	w.want("answer 1: false")
}

// A server that hangs in its start says what it waits for, when that has taken a while; one that has failed keeps its reason, with what
// it wrote on stderr, while the next attempt runs, and until it is ready. Clients are not told what it wrote.
func TestAFaultKeepsItsReason(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	shows := func(when, reason string, fault bool) {
		t.Helper()
		w.step(message.Inspect{Reply: func(any) {}})
		if r := w.s.report(); r.Reason != reason || r.Fault != fault {
			t.Errorf("%s: %q, fault %v; want %q, %v", when, r.Reason, r.Fault, reason, fault)
		}
	}
	w.phase(0, message.Handshaking)
	shows("it has just begun", "", false)
	w.after(12 * time.Second)
	shows("it hangs", "waits for the answer to initialize, for 12s now", true)
	w.step(message.BackendChanged{Backend: w.backends[0], Phase: message.Waiting, Reason: "exit status 1", LastLine: "E404", NextAttempt: w.now.Add(time.Second)})
	shows("it has failed", "exit status 1; stderr: E404", true)
	w.step(message.RequestConnect{Backend: w.backends[0]})
	shows("it wants to start again", "waits for its turn to start (limits.startsAtOnce); before: exit status 1; stderr: E404", true)
	w.step(message.StartSlotGranted{Number: 1})
	w.phase(0, message.Connecting)
	shows("another attempt", "waits for the connection; before: exit status 1; stderr: E404", true)
	w.phase(0, message.Syncing)
	w.after(time.Minute)
	shows("it hangs again", "waits for its lists, for 1m0s now; before: exit status 1; stderr: E404", true)
	w.dispatch(1)
	if f := w.fault(1, protocol.ServerUnavailable); strings.Contains(f.Message, "E404") || !strings.Contains(f.Message, "exit status 1") {
		t.Errorf("clients are told %q", f.Message)
	}
	w.phase(0, message.Ready)
	w.step(message.ConfirmResult{Key: 1})
	shows("it is ready", "", false)
}

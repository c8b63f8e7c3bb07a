package pool

import (
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// readyReplicas returns a server whose n replicas are ready.
func readyReplicas(t *testing.T, server config.Server, n int) *world {
	server.Queue = wide
	w := newWorld(t, server, n)
	for i := range n {
		w.phase(i, message.Ready)
	}
	return w
}

// Round robin counts calls, not load: a replica with many running calls still gets its turn.
func TestRoundRobinIgnoresLoad(t *testing.T) {
	w := readyReplicas(t, config.Server{}, 2)
	for seq := range uint64(6) {
		w.step(message.Dispatch{Call: message.CallRef{Seq: seq}, Request: &message.Request{Caller: &message.Caller{}, Server: "fake", Replica: 1}})
	}
	counts := map[int]int{}
	for seq := uint64(10); seq < 20; seq++ {
		w.dispatch(seq)
		counts[w.at(seq)]++
	}
	if counts[0] != 5 || counts[1] != 5 {
		t.Errorf("calls by replica %v, want 5 each", counts)
	}
}

// With balance least-busy, a replica with fewer running calls gets the call. Equally busy replicas take turns.
func TestLeastBusy(t *testing.T) {
	w := readyReplicas(t, config.Server{Balance: "least-busy"}, 3)
	for seq := range uint64(4) {
		w.step(message.Dispatch{Call: message.CallRef{Seq: seq}, Request: &message.Request{Caller: &message.Caller{}, Server: "fake", Replica: 1}})
	}
	counts := map[int]int{}
	for seq := uint64(10); seq < 18; seq++ {
		w.dispatch(seq)
		counts[w.at(seq)]++
	}
	if counts[0] != 0 || counts[1] != 4 || counts[2] != 4 {
		t.Errorf("calls by replica %v, want none at the busy one and 4 at each other", counts)
	}
	w = readyReplicas(t, config.Server{Balance: "least-busy"}, 3)
	for seq := range uint64(30) {
		w.dispatch(seq)
		counts[w.at(seq)+10]++
		w.end(seq)
	}
	if counts[10] != 10 || counts[11] != 10 || counts[12] != 10 {
		t.Errorf("calls by idle replica %v, want 10 each", counts)
	}
}

// Only calls that were queued count for the metric of the time in the queue.
func TestQueueWaitIsMeasured(t *testing.T) {
	w := newWorld(t, config.Server{MaxConcurrent: 1, Queue: wide}, 1)
	w.phase(0, message.Ready)
	call := func(seq uint64) message.Dispatch {
		return message.Dispatch{Call: message.CallRef{Seq: seq}, Request: &message.Request{Caller: &message.Caller{}, Server: "fake"}}
	}
	if _, waits := told[message.Send, waited](w, call(0)); len(waits) != 0 {
		t.Errorf("a call that was sent at once waited %v", waits)
	}
	w.step(call(1))
	w.after(3 * time.Second)
	if _, waits := told[message.Send, waited](w, message.CallEnded{Backend: w.backends[0], Call: message.CallRef{Seq: 0}}); len(waits) != 1 || waits[0].d != 3*time.Second {
		t.Errorf("a call that waited for 3s was measured as %v", waits)
	}
}

// A call that ends normally does not pause the server.
func TestNoPauseWithoutRefusal(t *testing.T) {
	w := newWorld(t, config.Server{Queue: wide}, 1)
	w.phase(0, message.Ready)
	w.dispatch(0)
	if timers := w.refuse429(0, 0); len(timers) != 0 || len(w.s.calls.pauses.until) != 0 {
		t.Errorf("timers %v and pauses %v after a call without a refusal", timers, w.s.calls.pauses.until)
	}
}

// limits.parkedPerServer: 0 means no limit.
func TestParkedWithoutLimit(t *testing.T) {
	w := newWorld(t, config.Server{Queue: wide}, 1)
	w.phase(0, message.Ready)
	for seq := range uint64(3) {
		w.dispatch(seq)
		w.step(message.CallParked{Backend: w.backends[0], Call: message.CallRef{Seq: seq}, Yes: true})
	}
	if len(w.failed) != 0 || w.s.calls.parked != 3 {
		t.Errorf("%d calls failed and %d wait for their clients, want 0 and 3", len(w.failed), w.s.calls.parked)
	}
}

// A queued request that only waits for the end of a task is sent although maxConcurrent holds back the calls before it.
func TestQueuedTaskRequestPassesTheLimit(t *testing.T) {
	w := newWorld(t, config.Server{MaxConcurrent: 1, Queue: wide}, 1)
	w.phase(0, message.Handshaking)
	w.dispatch(0)
	w.dispatch(1)
	w.about(2, protocol.MethodTasksResult, nil)
	w.phase(0, message.Ready)
	if w.at(0) != 0 || w.at(1) != -1 || w.at(2) != 0 {
		t.Errorf("calls at %d, %d and %d; want the first and the request about the task to run", w.at(0), w.at(1), w.at(2))
	}
}

// With report-only rates, calls above the limit are logged at most once a second.
func TestReportOnlyRatesAreLoggedOncePerSecond(t *testing.T) {
	w := newWorld(t, config.Server{Queue: wide}, 1)
	w.phase(0, message.Ready)
	seq := uint64(0)
	logs := func() int {
		seq++
		r := &message.Request{Server: "fake", Item: "x", Rate: config.Rate{Requests: 1, Per: time.Hour}, RateReports: true, Caller: &message.Caller{Principal: "key:a"}}
		_, logged := told[message.Send, kernel.Logged](w, message.Dispatch{Call: message.CallRef{Seq: seq}, Request: r})
		return len(logged)
	}
	for i, c := range []struct {
		after time.Duration
		want  int
	}{{0, 0}, {0, 1}, {0, 0}, {time.Second - 1, 0}, {1, 1}, {time.Second, 1}, {time.Second - 1, 0}} {
		w.after(c.after)
		if n := logs(); n != c.want {
			t.Errorf("call %d: %d messages, want %d", i+1, n, c.want)
		}
	}
}

// If the connection that mentioned a resource returns the read unexecuted, the read is sent on another connection.
func TestUnexecutedReadIsSentElsewhere(t *testing.T) {
	w := readyReplicas(t, config.Server{Command: "x"}, 2)
	w.step(message.ResourcesMentioned{Backend: w.backends[1], URIs: []string{"a:made"}})
	w.read(1, "a:made", message.CanAll)
	if w.at(1) != 1 {
		t.Fatalf("read at %d, want the replica that mentioned the resource", w.at(1))
	}
	r := &message.Request{Server: "fake", Item: "a:made", Unlisted: true, Caller: &message.Caller{Can: message.CanAll}}
	r.Frame.Method = protocol.MethodResourcesRead
	delete(w.sent, 1)
	w.step(message.NotExecuted{Backend: w.backends[1], Call: message.CallRef{Seq: 1}, Request: r, Reason: "refused"})
	if w.at(1) != 0 {
		t.Errorf("read at %d after its connection did not execute it, want the other replica (fault %v)", w.at(1), w.failed[1])
	}
}

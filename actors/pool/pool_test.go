package pool

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// world is a pool's state with real references for its backends. It records the calls that were sent or failed, and the
// timers of the queue.
type world struct {
	t        *testing.T
	system   *kernel.System
	s        *state
	now      time.Time
	backends []kernel.Reference
	sent     map[uint64]kernel.Reference // calls at a backend
	failed   map[uint64]*protocol.Fault
	expire   []queueExpired
}

func newWorld(t *testing.T, server config.Server, replicas int) *world {
	t.Helper()
	system := kernel.New(kernel.Options{})
	t.Cleanup(func() { actortest.Stop(t, system) })
	server.Name, server.Replicas = "fake", replicas
	w := &world{t: t, system: system, s: newState(Options{Server: server}, kernel.Reference{}, 1), now: time.Unix(1000, 0),
		sent: map[uint64]kernel.Reference{}, failed: map[uint64]*protocol.Fault{}}
	for i := range replicas {
		w.backends = append(w.backends, actortest.NewProbe(system, fmt.Sprint(i)).Reference)
	}
	w.step(kernel.Started{})
	for i, ref := range w.backends {
		w.step(spawned{i + 1, ref})
	}
	return w
}

func (w *world) step(msg any) {
	for _, e := range step(w.s, w.now, msg, nil) {
		switch m := e.Msg.(type) {
		case message.Send:
			if at, twice := w.sent[m.Call.Seq]; twice {
				w.t.Fatalf("call %d was sent to %v while it is at %v", m.Call.Seq, e.To, at)
			}
			w.sent[m.Call.Seq] = e.To
		case message.Failed:
			if w.failed[m.Seq] != nil {
				w.t.Fatalf("call %d was answered twice", m.Seq)
			}
			w.failed[m.Seq] = m.Fault
		}
		if a, ok := e.Act.(kernel.Wake); ok {
			if due, ok := a.Msg.(queueExpired); ok {
				w.expire = append(w.expire, due)
			}
		}
	}
}

func (w *world) phase(i int, p message.Phase) {
	c := message.BackendChanged{Backend: w.backends[i], Replica: i, Phase: p, Info: &message.ServerInfo{}}
	if p == message.Waiting {
		c.Reason, c.NextAttempt = "exit status 1", w.now.Add(2*time.Second)
	}
	w.step(c)
}

// spawned gives a reference to each connection that has none. Until a connection is removed, backend i belongs to connection i.
func (w *world) spawned() {
	for _, conn := range w.s.replicas.connections {
		if conn.ref.IsZero() {
			w.backends = append(w.backends, actortest.NewProbe(w.system, fmt.Sprint(conn.number)).Reference)
			w.step(spawned{conn.number, w.backends[len(w.backends)-1]})
		}
	}
}

func (w *world) dispatch(seq uint64) {
	w.step(message.Dispatch{Call: message.CallRef{Seq: seq}, Request: &message.Request{Caller: &message.Caller{}, Server: "fake"}})
}

func (w *world) end(seq uint64) {
	at := w.sent[seq]
	delete(w.sent, seq)
	w.step(message.CallEnded{Backend: at, Call: message.CallRef{Seq: seq}})
}

func (w *world) giveBack(seq uint64) {
	at := w.sent[seq]
	delete(w.sent, seq)
	w.step(message.NotExecuted{Backend: at, Call: message.CallRef{Seq: seq}, Request: &message.Request{Caller: &message.Caller{}, Server: "fake"}, Reason: "refused"})
}

func (w *world) fault(seq uint64, want protocol.FaultName) *protocol.Fault {
	w.t.Helper()
	f := w.failed[seq]
	if f == nil || f.Name != want {
		w.t.Fatalf("call %d: got %v, want %s", seq, f, want)
	}
	return f
}

var queue = config.Queue{Size: 2, Timeout: 10 * time.Second}

// Requirement S3.6.2: calls over the limit are queued, and calls over the queue's size are refused.
func TestLimitAndQueue(t *testing.T) {
	w := newWorld(t, config.Server{MaxConcurrent: 1, Queue: queue}, 1)
	w.phase(0, message.Ready)
	for seq := range uint64(4) {
		w.dispatch(seq)
	}
	if len(w.sent) != 1 || w.s.calls.queue.len() != 2 {
		t.Fatalf("%d sent, %d queued, want 1 and 2", len(w.sent), w.s.calls.queue.len())
	}
	w.fault(3, protocol.QueueFull)
	w.end(0)
	if _, ok := w.sent[1]; !ok {
		t.Error("the oldest queued call was not sent next")
	}
}

func TestQueueTimeout(t *testing.T) {
	w := newWorld(t, config.Server{MaxConcurrent: 1, Queue: queue}, 1)
	w.phase(0, message.Ready)
	w.dispatch(0)
	w.dispatch(1)
	w.now = w.now.Add(10*time.Second - 1)
	w.step(w.expire[0])
	if len(w.failed) != 0 {
		t.Fatal("the call failed before queue.timeout")
	}
	w.now = w.now.Add(1)
	w.step(w.expire[1])
	w.fault(1, protocol.QueueTimeout)
}

func TestFirstStartWaitsInTheQueue(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	w.phase(0, message.Handshaking)
	w.dispatch(0)
	w.phase(0, message.Ready)
	if _, ok := w.sent[0]; !ok {
		t.Fatal("the call was not sent when the server was ready")
	}
}

// Requirement S3.2.3: a call to a lost server fails at once. The error says why, and when to retry.
func TestLostServer(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	w.phase(0, message.Ready)
	w.phase(0, message.Waiting)
	w.dispatch(0)
	f := w.fault(0, protocol.ServerUnavailable)
	if f.RetryAfter != 2*time.Second || !f.Retryable {
		t.Errorf("RetryAfter %v, Retryable %v, want 2s and true", f.RetryAfter, f.Retryable)
	}
	// S4.3.2, S4.3.3: it recovers and takes new calls.
	w.phase(0, message.Ready)
	w.dispatch(1)
	if _, ok := w.sent[1]; !ok {
		t.Error("the call after the recovery was not sent")
	}
}

// Requirement S4.2.1: round robin spreads calls evenly and drops none.
func TestRoundRobin(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 3)
	for i := range 3 {
		w.phase(i, message.Ready)
	}
	counts := map[kernel.Reference]int{}
	for seq := range uint64(300) {
		w.dispatch(seq)
		counts[w.sent[seq]]++
	}
	for ref, n := range counts {
		if n != 100 {
			t.Errorf("%v got %d of 300 calls", ref, n)
		}
	}
}

// A call of server:tool@1 is executed by replica 1 only.
func TestCallOfOneReplica(t *testing.T) {
	for _, isolation := range []string{"shared", "leased"} {
		w := newWorld(t, config.Server{Queue: config.Queue{Size: 20, Timeout: time.Second}, Isolation: isolation, MaxBackends: 3}, 3)
		for i := range 3 {
			w.phase(i, message.Ready)
		}
		ask := func(seq uint64) {
			w.step(message.Dispatch{Call: message.CallRef{Seq: seq}, Request: &message.Request{Caller: &message.Caller{}, Server: "fake", Replica: 2}})
		}
		for seq := range uint64(10) {
			ask(seq)
			if w.sent[seq] != w.backends[1] {
				t.Fatalf("%s: call %d is at %v, want replica 1", isolation, seq, w.sent[seq])
			}
			w.end(seq)
		}
		w.phase(1, message.Waiting)
		ask(10)
		if f := w.fault(10, protocol.ServerUnavailable); f.RetryAfter != 2*time.Second {
			t.Errorf("%s: retry after %s", isolation, f.RetryAfter)
		}
		w.phase(2, message.Waiting)
		w.phase(1, message.Ready)
		ask(11)
		if w.sent[11] != w.backends[1] {
			t.Errorf("%s: after replica 1 is ready again: call at %v", isolation, w.sent[11])
		}
	}
}

// Requirement S4.2.3: a call that no server has seen is sent to another replica. It fails only if all fail.
func TestUnexecutedCallIsSentToAnotherReplica(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 2)
	w.phase(0, message.Ready)
	w.phase(1, message.Ready)
	w.dispatch(0)
	first := w.sent[0]
	lost := 0
	if first == w.backends[1] {
		lost = 1
	}
	w.phase(lost, message.Waiting)
	w.giveBack(0)
	if w.sent[0] != w.backends[1-lost] {
		t.Fatalf("the call is at %v, want the other replica", w.sent[0])
	}
	w.phase(1-lost, message.Waiting)
	w.giveBack(0)
	w.fault(0, protocol.NoBackendsAvailable) // S4.3.3
}

// A call that waits for its client beyond limits.parkedPerServer is canceled, and its holder gets an error.
func TestTooManyParked(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	w.step(message.NewLimits{Limits: config.Limits{ParkedPerServer: 1}}) // by a reload
	w.phase(0, message.Ready)
	for seq := range uint64(2) {
		w.dispatch(seq)
		w.step(message.CallParked{Backend: w.backends[0], Call: message.CallRef{Seq: seq}, Yes: true})
	}
	if len(w.failed) != 1 {
		t.Fatalf("%d calls failed, want 1", len(w.failed))
	}
	w.fault(1, protocol.Overloaded)
}

func TestMisconfiguredServer(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue, Fault: "variable TOKEN is not set"}, 1)
	w.dispatch(0)
	f := w.fault(0, protocol.ServerUnavailable)
	if f.Message != "server fake is misconfigured: variable TOKEN is not set" {
		t.Errorf("message %q", f.Message)
	}
}

func TestCancelDropsAQueuedCall(t *testing.T) {
	w := newWorld(t, config.Server{MaxConcurrent: 1, Queue: queue}, 1)
	w.phase(0, message.Ready)
	w.dispatch(0)
	w.dispatch(1)
	w.step(message.Cancel{Call: message.CallRef{Seq: 1}})
	w.end(0)
	if len(w.sent) != 0 {
		t.Error("a canceled call was sent")
	}
}

// During a restart, the old backend takes calls until the new one is ready.
func TestReplaceDrainsTheOld(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	w.phase(0, message.Ready)
	w.dispatch(0)
	w.step(message.Restart{})
	w.dispatch(1)
	if w.sent[1] != w.backends[0] {
		t.Fatal("the call was not sent to the old backend")
	}
	fresh := w.fresh(2)
	w.seen(2)
	w.dispatch(2)
	if w.sent[2] != fresh {
		t.Error("the call was not sent to the new backend")
	}
	w.end(0)
	w.end(1)
}

// fresh gives the backend that was spawned with the number a reference, and returns it.
func (w *world) fresh(number int) kernel.Reference {
	w.t.Helper()
	if w.s.replicas.byNumber(number) == nil {
		w.t.Fatalf("no backend %d was spawned", number)
	}
	system := kernel.New(kernel.Options{})
	w.t.Cleanup(func() { actortest.Stop(w.t, system) })
	ref := actortest.NewProbe(system, fmt.Sprint("fresh", number)).Reference
	w.step(spawned{number, ref})
	w.backends = append(w.backends, ref)
	return ref
}

// After each of many random messages, the running calls are those that were sent and have not ended, at most
// maxConcurrent. After the stop, no call is queued.
func TestRandomScripts(t *testing.T) {
	phases := []message.Phase{message.Connecting, message.Syncing, message.Ready, message.Ready, message.Waiting}
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 2))
		w := newWorld(t, config.Server{MaxConcurrent: 3, Queue: config.Queue{Size: 5, Timeout: time.Second}}, 1+rng.IntN(3))
		total := uint64(0)
		for range 200 {
			w.now = w.now.Add(time.Duration(rng.IntN(200)) * time.Millisecond)
			switch rng.IntN(6) {
			case 0, 1:
				w.dispatch(total)
				total++
			case 2:
				w.phase(rng.IntN(len(w.backends)), phases[rng.IntN(len(phases))])
			case 3:
				for seq := range w.sent {
					w.end(seq)
					break
				}
			case 4:
				for seq := range w.sent {
					w.giveBack(seq)
					break
				}
			case 5:
				if len(w.expire) > 0 {
					w.step(w.expire[len(w.expire)-1])
				}
			}
			if len(w.s.calls.running) != len(w.sent) || len(w.sent) > 3 {
				t.Fatalf("seed %d: %d running, %d sent, limit 3", seed, len(w.s.calls.running), len(w.sent))
			}
		}
		for seq := range w.sent {
			w.end(seq)
		}
		w.step(kernel.Stopping{})
		if w.s.calls.queue.len() != 0 {
			t.Fatalf("seed %d: %d queued after the stop", seed, w.s.calls.queue.len())
		}
	}
}

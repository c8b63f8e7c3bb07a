package pool

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// dispatchFor dispatches a call of the client.
func (w *world) dispatchFor(client string, seq uint64) {
	w.step(message.Dispatch{Call: message.CallRef{Seq: seq}, Request: &message.Request{Server: "fake", Caller: &message.Caller{ClientKey: client}}})
}

// next ends the only running call and returns the number of the one that is sent next.
func (w *world) next() uint64 {
	w.t.Helper()
	for seq := range w.sent {
		w.end(seq)
	}
	for seq := range w.sent {
		return seq
	}
	w.t.Fatal("no queued call was sent")
	return 0
}

var wide = config.Queue{Size: 1024, Timeout: 10 * time.Second}

// A client with five hundred queued calls does not delay another client's only call.
func TestManyCallsDelayOnlyTheirClient(t *testing.T) {
	w := newWorld(t, config.Server{MaxConcurrent: 1, Queue: wide}, 1)
	w.phase(0, message.Ready)
	for seq := range uint64(501) {
		w.dispatchFor("greedy", seq)
	}
	w.dispatchFor("modest", 1000)
	if got := w.next(); got != 1000 {
		t.Fatalf("call %d is next, want 1000", got)
	}
	w.dispatchFor("modest", 1001)
	w.dispatchFor("third", 2000)
	var order []uint64
	for range 5 {
		order = append(order, w.next())
	}
	if want := []uint64{1, 1001, 2000, 2, 3}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

// All sessions of a principal share one queue.
func TestPrincipalHasOneQueue(t *testing.T) {
	w := newWorld(t, config.Server{MaxConcurrent: 1, Queue: wide}, 1)
	w.phase(0, message.Ready)
	from := func(principal, session string, seq uint64) {
		w.step(message.Dispatch{Call: message.CallRef{Seq: seq}, Request: &message.Request{Server: "fake", Caller: &message.Caller{Principal: principal, ClientKey: session}}})
	}
	from("key:greedy", "", 0)
	for i := range uint64(4) {
		from("key:greedy", string('a'+rune(i)), 10+i)
	}
	from("key:modest", "z", 20)
	from("key:modest", "y", 21)
	var order []uint64
	for range 6 {
		order = append(order, w.next())
	}
	if want := []uint64{20, 10, 21, 11, 12, 13}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

// Clients take turns, and the calls of each client keep their order.
func TestClientsTakeTurns(t *testing.T) {
	w := newWorld(t, config.Server{MaxConcurrent: 1, Queue: wide}, 1)
	w.phase(0, message.Ready)
	w.dispatchFor("", 0)
	for i := range uint64(3) {
		w.dispatchFor("a", 10+i)
	}
	for i := range uint64(2) {
		w.dispatchFor("b", 20+i)
	}
	w.dispatchFor("c", 30)
	var order []uint64
	for range 6 {
		order = append(order, w.next())
	}
	if want := []uint64{10, 20, 30, 11, 21, 12}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

// When the queue is full, a client with few calls replaces the newest call of the client with the most.
func TestFullQueueReplacesACallOfTheBusiestClient(t *testing.T) {
	w := newWorld(t, config.Server{MaxConcurrent: 1, Queue: config.Queue{Size: 4, Timeout: time.Second}}, 1)
	w.phase(0, message.Ready)
	for seq := range uint64(5) {
		w.dispatchFor("greedy", seq)
	}
	w.dispatchFor("greedy", 5)
	w.fault(5, protocol.QueueFull)
	w.dispatchFor("modest", 10)
	w.fault(4, protocol.QueueFull)
	w.dispatchFor("modest", 11)
	w.fault(3, protocol.QueueFull)
	w.dispatchFor("modest", 12) // both clients have two calls
	w.fault(12, protocol.QueueFull)
	if w.s.calls.queue.len() != 4 || len(w.failed) != 4 {
		t.Errorf("%d calls queued and %d failed, want 4 and 4", w.s.calls.queue.len(), len(w.failed))
	}
}

// With queue.size 0, no call is queued.
func TestQueueOfSizeZero(t *testing.T) {
	w := newWorld(t, config.Server{MaxConcurrent: 1, Queue: config.Queue{Timeout: time.Second}}, 1)
	w.phase(0, message.Ready)
	w.dispatchFor("a", 0)
	w.dispatchFor("b", 1)
	w.fault(1, protocol.QueueFull)
}

// Each call has its own deadline.
func TestQueueTimeoutOfSeveralClients(t *testing.T) {
	w := newWorld(t, config.Server{MaxConcurrent: 1, Queue: wide}, 1)
	w.phase(0, message.Ready)
	w.dispatchFor("a", 0)
	w.dispatchFor("a", 1)
	w.now = w.now.Add(time.Second)
	w.dispatchFor("b", 2)
	w.now = w.now.Add(9 * time.Second)
	w.step(w.expire[0])
	w.fault(1, protocol.QueueTimeout)
	if w.failed[2] != nil {
		t.Fatal("the younger call failed, too")
	}
	w.now = w.now.Add(time.Second)
	w.step(w.expire[1])
	w.fault(2, protocol.QueueTimeout)
}

// A burst of calls opens leased connections one after the other, up to maxBackends.
func TestBurstOpensLeasedConnections(t *testing.T) {
	w := newWorld(t, config.Server{Isolation: isolationLeased, MaxBackends: 3, Queue: wide}, 1)
	w.phase(0, message.Ready)
	for seq := range uint64(5) {
		w.dispatchFor("a", seq)
	}
	for n := 2; n <= 3; n++ {
		if len(w.s.replicas.connections) != n {
			t.Fatalf("%d connections, want %d", len(w.s.replicas.connections), n)
		}
		w.spawned()
		w.phase(n-1, message.Ready)
	}
	if len(w.s.replicas.connections) != 3 || len(w.sent) != 3 {
		t.Errorf("%d connections and %d running calls, want 3 and 3", len(w.s.replicas.connections), len(w.sent))
	}
}

// The queue's indexes (by client, by age and by call) and its counter agree after random operations.
func TestQueueIndexesAgree(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 0))
		var l callQueue
		clients := []string{"a", "b", "c", "d"}
		for n := range uint64(300) {
			switch r.IntN(3) {
			case 0, 1:
				q := &queued{Dispatch: message.Dispatch{Call: message.CallRef{Seq: n}, Request: &message.Request{Caller: &message.Caller{ClientKey: clients[r.IntN(len(clients))]}}}}
				if r.IntN(4) == 0 {
					q.Request.Frame.Method = protocol.MethodTasksGet
				}
				l.add(q)
			case 2:
				if q := l.oldest(); q != nil {
					if r.IntN(2) == 0 {
						q = q.inClientQueue.calls.Back().Value.(*queued)
					}
					l.send(q)
				}
			}
			aboutTasks := 0
			for _, q := range l.byCall {
				if q.Request.AboutTask() {
					aboutTasks++
				}
			}
			if aboutTasks != l.taskCalls {
				t.Fatalf("seed %d: %d calls about tasks are queued, %d are counted", seed, aboutTasks, l.taskCalls)
			}
			total := 0
			for e := l.turns.Front(); e != nil; e = e.Next() {
				its := e.Value.(*clientQueue)
				if its.calls.Len() == 0 || l.byClient[its.client] != its {
					t.Fatalf("seed %d: the queue of client %q is empty or not the indexed one", seed, its.client)
				}
				total += its.calls.Len()
			}
			if total != l.len() || total != len(l.byCall) || l.turns.Len() != len(l.byClient) {
				t.Fatalf("seed %d: %d calls by client, %d by age, %d by call", seed, total, l.len(), len(l.byCall))
			}
		}
	}
}

// BenchmarkTurn measures the end of one call and the arrival of the next with ten to a hundred thousand queued calls.
// The cost should not depend on their number.
func BenchmarkTurn(b *testing.B) {
	for name, waiting := range map[string]int{"10": 10, "1000": 1000, "100000": 100000} {
		b.Run(name, func(b *testing.B) {
			s := newState(Options{Server: config.Server{Name: "fake", MaxConcurrent: 1, Queue: config.Queue{Size: 1 << 20, Timeout: time.Hour}}}, kernel.Reference{}, 1)
			s.replicas.connections = []*connection{{backendStatus: backendStatus{phase: message.Ready}}}
			now := time.Unix(1000, 0)
			seq := uint64(0)
			add := func() {
				seq++
				client := string(rune('a' + seq%26))
				step(s, now, message.Dispatch{Call: message.CallRef{Seq: seq}, Request: &message.Request{Caller: &message.Caller{ClientKey: client}}}, nil)
			}
			for range waiting + 1 {
				add()
			}
			out := make([]kernel.Effect, 0, 16)
			for b.Loop() {
				var running message.CallRef
				for running = range s.calls.running {
				}
				out = step(s, now, message.CallEnded{Call: running}, out[:0])
				add()
			}
		})
	}
}

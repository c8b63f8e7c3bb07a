package meta

import (
	"slices"
	"testing"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// queue is the actor's state and the calls that its clients have made.
type queue struct {
	t       *testing.T
	s       *state
	now     time.Time
	seq     uint64
	running []uint64 // numbers that the actor gave the running calls, oldest first
	began   []string // clients of the started calls, in order
	faults  map[uint64]protocol.FaultName
	rings   []time.Time
}

func newQueue(t *testing.T) *queue {
	q := &queue{t: t, s: newState(kernel.Reference{}, kernel.Reference{}), now: time.Unix(1e9, 0), faults: map[uint64]protocol.FaultName{}}
	q.step(message.Published{Snapshot: &catalog.Snapshot{}})
	return q
}

func (q *queue) step(msg any) {
	for _, e := range step(q.s, q.now, msg, nil) {
		switch m := e.Msg.(type) {
		case message.Failed:
			if q.faults[m.Seq] != "" {
				q.t.Errorf("call %d failed twice", m.Seq)
			}
			q.faults[m.Seq] = m.Fault.Name
		}
		switch act := e.Act.(type) {
		case run:
			q.running = append(q.running, act.number)
			q.began = append(q.began, act.request.Caller.ClientKey)
		case kernel.Wake:
			if _, ok := act.Msg.(queueDue); ok {
				q.rings = append(q.rings, q.now.Add(act.After))
			}
		}
	}
}

func (q *queue) call(client string) uint64 {
	q.seq++
	q.step(message.Dispatch{Call: message.CallRef{Seq: q.seq}, Request: &message.Request{Item: searchCatalog, Caller: &message.Caller{ClientKey: client}}})
	return q.seq
}

// end ends the oldest running call.
func (q *queue) end() {
	number := q.running[0]
	q.running = q.running[1:]
	q.step(ran{number: number})
}

// A client with many waiting calls delays another client by at most one of them.
func TestClientsTakeTurns(t *testing.T) {
	q := newQueue(t)
	for range 200 {
		q.call("greedy")
	}
	if len(q.running) != maxRunning {
		t.Fatalf("%d calls run, want maxRunning", len(q.running))
	}
	q.call("modest")
	q.call("third")
	q.began = nil
	for range 4 {
		q.end()
	}
	if !slices.Equal(q.began, []string{"greedy", "modest", "third", "greedy"}) {
		t.Errorf("started in the order %v", q.began)
	}
}

// When the queue is full, the newest call of the client with the most calls is refused.
func TestFullQueueRefusesTheGreediest(t *testing.T) {
	q := newQueue(t)
	var last uint64
	for range maxRunning + maxWaiting {
		last = q.call("greedy")
	}
	if len(q.faults) != 0 {
		t.Fatalf("refused although the queue has space: %v", q.faults)
	}
	more, modest := q.call("greedy"), q.call("modest")
	if len(q.faults) != 2 || q.faults[more] != protocol.QueueFull || q.faults[last] != protocol.QueueFull {
		t.Errorf("refused %v; the last queued call was %d, the next one %d, another client's %d", q.faults, last, more, modest)
	}
	if q.s.queue.count != maxWaiting {
		t.Errorf("%d calls wait, want maxWaiting", q.s.queue.count)
	}
}

// A call that waits too long fails. A canceled call is dropped without an answer.
func TestQueueTimeout(t *testing.T) {
	q := newQueue(t)
	for range maxRunning {
		q.call("a")
	}
	first := q.call("a")
	q.now = q.now.Add(waitAtMost / 2)
	second, gone := q.call("b"), q.call("b")
	q.step(message.Cancel{Call: message.CallRef{Seq: gone}})
	for range 3 {
		if len(q.rings) > 0 {
			q.now = q.rings[0]
			q.rings = q.rings[1:]
			q.step(queueDue{})
		}
		if q.s.queue.count == 1 && q.faults[second] != "" {
			t.Error("the second call was refused too early")
		}
	}
	if len(q.faults) != 2 || q.faults[first] != protocol.QueueTimeout || q.faults[second] != protocol.QueueTimeout {
		t.Errorf("refused %v", q.faults)
	}
	if len(q.rings) != 0 || q.s.queue.count != 0 || len(q.s.queue.clients) != 0 {
		t.Errorf("left: %d timers, queue %+v", len(q.rings), q.s.queue)
	}
}

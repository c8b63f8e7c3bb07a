package pool

import (
	"testing"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

func (w *world) about(seq uint64, m protocol.Method, home *message.TaskOrigin) {
	r := &message.Request{Caller: &message.Caller{}, Server: "fake", Home: home}
	r.Frame.Method = m
	w.step(message.Dispatch{Call: message.CallRef{Seq: seq}, Request: r})
}

// Requests about a task are sent to the replica that created it: another one would answer that the task does not exist, and
// the task would be forgotten. After the connection was replaced, any replica may answer.
func TestTaskRequestsGoToTheirReplica(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue, Replicas: 3}, 3)
	for i := range 3 {
		w.phase(i, message.Ready)
	}
	home := &message.TaskOrigin{Backend: w.backends[1]}
	for seq := range uint64(4) {
		w.about(seq, protocol.MethodTasksGet, home)
		if w.sent[seq] != w.backends[1] {
			t.Fatalf("request %d was sent to another replica", seq)
		}
	}
	w.phase(1, message.Waiting)
	w.about(5, protocol.MethodTasksGet, home)
	if w.fault(5, protocol.ServerUnavailable); w.sent[5] != (kernel.Reference{}) {
		t.Error("another replica got the request")
	}
	w.about(6, protocol.MethodTasksGet, &message.TaskOrigin{})
	if w.sent[6] == (kernel.Reference{}) {
		t.Error("no replica got the request about a task whose connection was replaced")
	}
}

// A call that waits for the end of a task does not count toward maxConcurrent, and does not block leased connections.
func TestWaitingForATaskTakesNoSlot(t *testing.T) {
	for _, server := range []config.Server{{MaxConcurrent: 1, Queue: queue}, {Isolation: isolationLeased, Queue: queue}} {
		w := newWorld(t, server, 1)
		w.phase(0, message.Ready)
		w.about(1, protocol.MethodTasksResult, nil)
		w.dispatch(2)
		w.about(3, protocol.MethodTasksResult, nil)
		if len(w.sent) != 3 {
			t.Fatalf("%+v: %d sent, want 3", server, len(w.sent))
		}
		w.dispatch(4)
		w.step(message.CallParked{Backend: w.backends[0], Call: message.CallRef{Seq: 3}, Yes: true})
		if len(w.sent) != 3 {
			t.Errorf("%+v: two calls are running", server)
		}
		w.step(message.CallParked{Backend: w.backends[0], Call: message.CallRef{Seq: 3}})
		w.end(2)
		if _, runs := w.sent[4]; !runs {
			t.Errorf("%+v: the next call was not sent", server)
		}
		for _, seq := range []uint64{1, 3, 4} {
			w.end(seq)
		}
		if conn := w.s.replicas.connections[0]; conn.inFlight != 0 || w.s.calls.parked != 0 || w.s.calls.waiting != 0 || len(w.s.calls.running) != 0 {
			t.Errorf("%+v: left: %d in flight, %d parked, %d waiting", server, conn.inFlight, w.s.calls.parked, w.s.calls.waiting)
		}
	}
}

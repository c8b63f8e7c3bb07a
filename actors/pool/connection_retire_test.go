package pool

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// drained returns the numbers of the connections that are being drained.
func (w *world) drained() (numbers []int) {
	for _, conn := range w.s.replicas.connections {
		if conn.leaving {
			numbers = append(numbers, conn.number)
		}
	}
	return numbers
}

func (w *world) numbers() (numbers []int) {
	for _, conn := range w.s.replicas.connections {
		numbers = append(numbers, conn.number)
	}
	return numbers
}

func (w *world) is(what string, got, want []int) {
	w.t.Helper()
	if !slices.Equal(got, want) {
		w.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// phaseOf makes the backend with that number report a phase.
func (w *world) phaseOf(number int, p message.Phase, next time.Duration) {
	conn := w.s.replicas.byNumber(number)
	w.step(message.BackendChanged{Backend: conn.ref, Replica: conn.replica, Phase: p, Info: &message.ServerInfo{}, Reason: "no", NextAttempt: w.now.Add(next)})
}

// seen makes the backend with that number ready, and its lists visible to clients.
func (w *world) seen(number int) {
	w.t.Helper()
	w.phaseOf(number, message.Ready, 0)
	w.step(message.ConfirmResult{Key: w.s.replicas.byNumber(number).catalog.confirm})
}

// Scaling keeps the connections of replicas that stay, starts new ones, and drains surplus ones if another is ready.
func TestScalingKeepsOtherReplicas(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 2)
	w.seen(1)
	w.seen(2)
	scale := func(n int) {
		server := w.s.server
		server.Replicas = n
		w.step(message.Reconfigure{Server: server, Transport: true})
	}
	scale(4)
	w.is("scaled up", w.numbers(), []int{1, 2, 3, 4})
	w.is("gone", w.drained(), nil)
	w.fresh(3)
	w.fresh(4)
	w.seen(3)
	scale(1)
	w.is("scaled down", w.drained(), []int{2, 3, 4})
	if r := w.s.report(); r.Replicas != 1 || r.ReadyCount != 1 {
		t.Errorf("%d of %d replicas are ready, want 1 of 1", r.ReadyCount, r.Replicas)
	}
}

// If no remaining replica is ready, a surplus one stays until one is.
func TestScalingDownToOneThatIsNotReady(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 2)
	w.seen(2)
	w.phase(0, message.Handshaking)
	server := w.s.server
	server.Replicas = 1
	w.step(message.Reconfigure{Server: server, Transport: true})
	w.dispatch(1)
	if w.sent[1] != w.backends[1] {
		t.Error("the call was not sent")
	}
	w.is("gone", w.drained(), nil)
	w.seen(1)
	w.is("gone", w.drained(), []int{2})
}

// A changed URL replaces only the connection of its replica, which is drained when its successor is ready.
func TestChangedURLReplacesOneReplica(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue, URLs: []string{"http://a", "http://b"}}, 2)
	w.seen(1)
	w.seen(2)
	server := w.s.server
	server.URLs = []string{"http://a", "http://c", "http://d"}
	w.step(message.Reconfigure{Server: server, Transport: true})
	w.is("connections", w.numbers(), []int{1, 2, 3, 4})
	w.is("gone", w.drained(), nil)
	w.fresh(3)
	w.fresh(4)
	w.seen(4)
	w.is("another replica is ready", w.drained(), nil)
	w.seen(3)
	w.is("its successor is ready", w.drained(), []int{2})
}

// The old backend is also drained when the new one fails, when the old one is lost, or after startTimeout.
func TestRetiringBackendIsDrained(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(w *world)
		want protocol.FaultName
	}{
		{"the new one fails", func(w *world) { w.phaseOf(2, message.Waiting, time.Second) }, protocol.ServerUnavailable},
		{"the old one is lost", func(w *world) { w.phaseOf(1, message.Waiting, 0) }, ""},
		{"the old one stops", func(w *world) { w.step(kernel.ChildStopped{Child: w.backends[0]}) }, ""},
		{"startTimeout", func(w *world) { w.step(retireDue{1}) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, config.Server{Queue: queue}, 1)
			w.seen(1)
			w.step(message.Restart{})
			w.fresh(2)
			w.phaseOf(2, message.Connecting, 0)
			c.do(w)
			if conn := w.s.replicas.byNumber(1); conn != nil && !conn.leaving {
				t.Fatal("the old backend was not drained")
			}
			w.dispatch(1)
			switch {
			case c.want != "":
				w.fault(1, c.want)
			case w.failed[1] != nil || w.s.calls.queue.len() != 1:
				t.Errorf("the call did not wait for the new backend: %v", w.failed[1])
			}
			w.seen(2)
			if w.s.settled != true || len(w.sent)+len(w.failed) != 1 {
				t.Errorf("settled %v, sent %v, failed %v", w.s.settled, w.sent, w.failed)
			}
		})
	}
}

// A second restart during the first one keeps the ready backend until the newest is ready.
func TestRestartedTwice(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	w.seen(1)
	w.step(message.Restart{})
	w.fresh(2)
	w.phaseOf(2, message.Handshaking, 0)
	w.step(message.Restart{})
	w.fresh(3)
	w.is("gone", w.drained(), []int{2})
	w.seen(3)
	w.is("gone", w.drained(), []int{1, 2})
	if l := w.s.replicas.leader(); l == nil || l.number != 3 {
		t.Error("the newest connection does not lead")
	}
}

// Lists of a retiring server are not stored as those of its successor.
func TestListsOfARetiringServerAreNotStored(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue, Command: "a"}, 1)
	w.seen(1)
	server := w.s.server
	server.Command = "b"
	w.step(message.Reconfigure{Server: server, Transport: true})
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		w.step(message.Listed{Backend: w.backends[0], Kind: kind, Items: [][]byte{[]byte(fmt.Sprintf(`{"name":"%d"}`, kind))}})
	}
	if w.s.catalog.remembered.catalog != nil {
		t.Error("the old server's lists were stored for the new one")
	}
	w.fresh(2)
	w.seen(2)
	if w.s.catalog.remembered.catalog == nil {
		t.Error("the new server's lists were not stored")
	}
}

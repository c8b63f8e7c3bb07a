package pool

import (
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
)

// resting is a lazy server that is ready and whose catalog is known; it notes who is asked to rest, is drained, and is spawned.
type resting struct {
	*subscribers
	said []string
}

func newResting(t *testing.T) *resting {
	w := &resting{subscribers: newSubscribers(t, 1)}
	w.s.server.Startup, w.s.server.IdleStop = startupLazy, time.Minute
	w.does(message.Reconfigure{Server: w.s.server})
	w.s.catalog.remembered = &remembered{identity: w.s.catalog.remembered.identity, catalog: &message.KnownCatalog{}}
	w.does(message.Restart{})
	w.s.replicas.connections = w.s.replicas.connections[:1] // the one that is ready, as if nothing had been restarted
	w.s.replicas.connections[0].leaving = false
	w.said = nil
	return w
}

func (w *resting) does(msg any) {
	for _, e := range step(w.s, w.now, msg, nil) {
		switch e.Msg.(type) {
		case message.QueryIdle:
			w.said = append(w.said, "may rest")
		case message.Drain:
			w.said = append(w.said, "drain")
		case message.Send:
			w.said = append(w.said, "send")
		}
		if _, ok := e.Act.(spawn); ok {
			w.said = append(w.said, "spawn")
		}
	}
}

func (w *resting) did(want ...string) {
	w.t.Helper()
	if len(w.said) != len(want) {
		w.t.Fatalf("did %v, want %v", w.said, want)
	}
	for i := range want {
		if w.said[i] != want[i] {
			w.t.Errorf("did %v, want %v", w.said, want)
		}
	}
	w.said = nil
}

func (w *resting) due() { w.does(idleDue{w.s.idle.timer}) }

func (w *resting) call(seq uint64) {
	w.does(message.Dispatch{Call: message.CallRef{Seq: seq}, Request: &message.Request{Caller: &message.Caller{}, Server: "fake"}})
}

// A call that comes while a lazy server is being stopped is not lost: before the backend has said that it has nothing to do it keeps the
// server running, after that it starts it anew.
func TestACallWhileALazyServerIsStopped(t *testing.T) {
	w := newResting(t)
	w.after(time.Minute)
	w.due()
	w.did("may rest")
	w.call(1)
	w.does(message.BackendIdle{Backend: w.backends[0]})
	w.after(time.Hour)
	w.does(message.BackendIdle{Backend: w.backends[0]}) // late, and the call still runs
	w.does(message.CallEnded{Backend: w.backends[0], Call: message.CallRef{Seq: 1}})
	w.does(message.BackendIdle{Backend: w.backends[0]}) // the answer to the question of before
	w.did("send")
	w.after(time.Minute - 1)
	w.due()
	w.did()
	w.after(1)
	w.due()
	w.does(message.BackendIdle{Backend: w.backends[0]})
	w.did("may rest", "drain")
	if r := w.s.report(); r.State != "idle" {
		t.Errorf("stopped: %s", r.State)
	}
	w.call(2)
	w.call(3)
	w.did("spawn")
	w.does(kernel.ChildStopped{Child: w.backends[0]})
	if w.s.calls.queue.len() != 2 || len(w.failed) != 0 {
		t.Errorf("%d calls wait, failed %v", w.s.calls.queue.len(), w.failed)
	}
}

// A server that somebody calls, waits for or is subscribed to is not asked to rest; nor is one that is not lazy any more.
func TestALazyServerIsWanted(t *testing.T) {
	w := newResting(t)
	w.call(1)
	w.did("send")
	w.after(time.Hour)
	w.due()
	w.did()
	w.does(message.CallEnded{Backend: w.backends[0], Call: message.CallRef{Seq: 1}})
	w.subscribe(0, 1, "a")
	w.answer("a", true)
	w.after(time.Hour)
	w.due()
	w.did()
	w.do(message.UnsubscribeURI{From: w.who[0], URI: "a"})
	w.do(graceOver{subKey{uri: "a"}})
	w.answer("a", true)
	w.after(time.Hour)
	w.does(idleDue{w.s.idle.timer - 1}) // an earlier clock's
	w.did()
	w.due()
	w.did("may rest")
	eager := w.s.server
	eager.Startup = "eager"
	w.does(message.Reconfigure{Server: eager})
	w.does(message.BackendIdle{Backend: w.backends[0]})
	w.due()
	w.did()
}

// A subscription starts a lazy server, and waits for it.
func TestASubscriptionStartsALazyServer(t *testing.T) {
	w := newResting(t)
	w.after(time.Minute)
	w.due()
	w.does(message.BackendIdle{Backend: w.backends[0]})
	w.does(kernel.ChildStopped{Child: w.backends[0]})
	w.said = nil
	w.does(message.SubscribeURI{From: w.who[0], Seq: 1, URI: "a"})
	w.did("spawn")
	system := kernel.New(kernel.Options{})
	t.Cleanup(func() { actortest.Stop(t, system) })
	w.backends[0] = actortest.NewProbe(system, "again").Reference
	w.do(spawned{w.s.replicas.lastNumber, w.backends[0]})
	w.told = nil
	w.do(message.BackendChanged{Backend: w.backends[0], Phase: message.Ready, Info: &message.ServerInfo{}})
	w.want("resources/subscribe a at 0")
}

// It is never stopped before it is known what it offers.
func TestALazyServerIsLearnedFirst(t *testing.T) {
	w := newWorld(t, config.Server{Startup: startupLazy, IdleStop: time.Minute, Queue: queue}, 1)
	w.lost(0, time.Second, "exit status 1")
	w.after(time.Hour)
	w.step(idleDue{w.s.idle.timer})
	w.step(message.BackendIdle{Backend: w.backends[0]})
	if w.s.isStopped() {
		t.Fatal("stopped, and nobody will ever call what he does not know")
	}
	w.phase(0, message.Ready)
	w.after(time.Minute)
	w.step(idleDue{w.s.idle.timer})
	w.step(message.BackendIdle{Backend: w.backends[0]})
	if !w.s.isStopped() {
		t.Error("learned, and not stopped")
	}
}

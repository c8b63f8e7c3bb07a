package pool

import (
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
)

// lazyWorld is a ready lazy server whose catalog is known. It records which backends are queried, drained and spawned.
type lazyWorld struct {
	*subscribers
	said []string
}

func newLazyWorld(t *testing.T) *lazyWorld {
	w := &lazyWorld{subscribers: newSubscribers(t, 1)}
	w.s.server.Startup, w.s.server.IdleStop = startupLazy, time.Minute
	w.does(message.Reconfigure{Server: w.s.server})
	w.s.catalog.remembered = &remembered{identity: w.s.catalog.remembered.identity, catalog: &message.KnownCatalog{}}
	w.does(message.Restart{})
	w.s.replicas.connections = w.s.replicas.connections[:1] // only the ready one, as if nothing had been restarted
	w.s.replicas.connections[0].leaving = false
	w.said = nil
	return w
}

func (w *lazyWorld) does(msg any) {
	for _, e := range step(w.s, w.now, msg, nil) {
		switch e.Msg.(type) {
		case message.QueryIdle:
			w.said = append(w.said, "query idle")
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

func (w *lazyWorld) did(want ...string) {
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

func (w *lazyWorld) due() { w.does(idleDue{w.s.idle.timer}) }

func (w *lazyWorld) call(seq uint64) {
	w.does(message.Dispatch{Call: message.CallRef{Seq: seq}, Request: &message.Request{Caller: &message.Caller{}, Server: "fake"}})
}

// A call that waits for a login keeps a lazy server running.
func TestCallThatWaitsForALoginKeepsALazyServerRunning(t *testing.T) {
	w := newLazyWorld(t)
	w.s.logins.waiting[message.CallRef{Seq: 1}] = &loginWaiter{}
	w.after(time.Minute)
	w.due()
	w.did()
	clear(w.s.logins.waiting)
	w.after(time.Minute)
	w.due()
	w.did("query idle")
}

// A call during the stop of a lazy server is not lost. Before the backend has reported that it is idle, the call keeps the
// server running. After that it starts the server again.
func TestCallDuringTheStopOfALazyServer(t *testing.T) {
	w := newLazyWorld(t)
	w.after(time.Minute)
	w.due()
	w.did("query idle")
	w.call(1)
	w.does(message.BackendIdle{Backend: w.backends[0]})
	w.after(time.Hour)
	w.does(message.BackendIdle{Backend: w.backends[0]}) // late, and the call still runs
	w.does(message.CallEnded{Backend: w.backends[0], Call: message.CallRef{Seq: 1}})
	w.does(message.BackendIdle{Backend: w.backends[0]}) // answer to the earlier query
	w.did("send")
	w.after(time.Minute - 1)
	w.due()
	w.did()
	w.after(1)
	w.due()
	w.does(message.BackendIdle{Backend: w.backends[0]})
	w.did("query idle", "drain")
	if r := w.s.report(); r.State != "idle" {
		t.Errorf("stopped: %s", r.State)
	}
	w.call(2)
	w.call(3)
	w.did("spawn")
	w.does(kernel.ChildStopped{Child: w.backends[0]})
	if w.s.calls.queue.len() != 2 || len(w.failed) != 0 {
		t.Errorf("%d calls queued, failed %v", w.s.calls.queue.len(), w.failed)
	}
}

// A server with running calls or subscriptions is not stopped, and neither is one that is no longer lazy.
func TestLazyServerInUse(t *testing.T) {
	w := newLazyWorld(t)
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
	w.does(idleDue{w.s.idle.timer - 1}) // an earlier timer
	w.did()
	w.due()
	w.did("query idle")
	eager := w.s.server
	eager.Startup = "eager"
	w.does(message.Reconfigure{Server: eager})
	w.does(message.BackendIdle{Backend: w.backends[0]})
	w.due()
	w.did()
}

// A subscription starts a lazy server, and waits for it.
func TestSubscriptionStartsALazyServer(t *testing.T) {
	w := newLazyWorld(t)
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

// A lazy server is not stopped before its catalog is known.
func TestLazyServerRunsUntilItsCatalogIsKnown(t *testing.T) {
	w := newWorld(t, config.Server{Startup: startupLazy, IdleStop: time.Minute, Queue: queue}, 1)
	w.lost(0, time.Second, "exit status 1")
	w.after(time.Hour)
	w.step(idleDue{w.s.idle.timer})
	w.step(message.BackendIdle{Backend: w.backends[0]})
	if w.s.isStopped() {
		t.Fatal("stopped although its catalog is unknown")
	}
	w.phase(0, message.Ready)
	w.after(time.Minute)
	w.step(idleDue{w.s.idle.timer})
	w.step(message.BackendIdle{Backend: w.backends[0]})
	if !w.s.isStopped() {
		t.Error("not stopped although its catalog is known")
	}
}

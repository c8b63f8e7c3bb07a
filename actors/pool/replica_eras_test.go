package pool

import (
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// told applies a message and returns the resulting messages of type M and acts of type A.
func told[M, A any](w *world, msg any) (messages []M, acts []A) {
	for _, e := range step(w.s, w.now, msg, nil) {
		if m, ok := e.Msg.(M); ok {
			messages = append(messages, m)
		}
		if a, ok := e.Act.(A); ok {
			acts = append(acts, a)
		}
	}
	return messages, acts
}

// A detected era is stored once, and the replica's next backend begins with it.
func TestErasAreRemembered(t *testing.T) {
	w := newWorld(t, config.Server{Command: "x", Queue: queue}, 1)
	known := message.KnownEra{Era: protocol.EraLegacy, At: w.now}
	ready := message.BackendChanged{Backend: w.backends[0], Phase: message.Ready, Info: &message.ServerInfo{Version: protocol.LatestLegacy}, Known: known}
	got, _ := told[message.RememberEra, spawn](w, ready)
	if len(got) != 1 || got[0].Known != known || got[0].Server != eraIdentity(w.s.server, 0) {
		t.Fatalf("remembered %v", got)
	}
	if again, _ := told[message.RememberEra, spawn](w, ready); len(again) != 0 {
		t.Errorf("remembered again: %v", again)
	}
	if _, spawns := told[message.RememberEra, spawn](w, message.Restart{}); len(spawns) != 1 || spawns[0].known != known {
		t.Errorf("spawns %v, want the next backend to begin with the era", spawns)
	}
	ready.Known = message.KnownEra{} // configured
	if got, _ := told[message.RememberEra, spawn](w, ready); len(got) != 0 {
		t.Errorf("a configured era was remembered: %v", got)
	}
}

func TestIdentity(t *testing.T) {
	base := config.Server{Command: "npx", Args: []string{"a"}, Env: map[string]string{"TOKEN": "secret"}}
	same := base
	same.Name, same.Timeout, same.Env = "other", time.Hour, map[string]string{"TOKEN": "another secret"}
	if eraIdentity(base, 0) != eraIdentity(same, 1) {
		t.Error("the identity depends on fields that do not affect the era")
	}
	for name, other := range map[string]config.Server{
		"args": {Command: "npx", Args: []string{"b"}, Env: base.Env}, "command": {Command: "uvx", Args: base.Args, Env: base.Env},
		"cwd": {Command: "npx", Args: base.Args, Env: base.Env, Cwd: "/"}, "env": {Command: "npx", Args: base.Args},
	} {
		if eraIdentity(base, 0) == eraIdentity(other, 0) {
			t.Errorf("a different %s has the same identity", name)
		}
	}
	urls := config.Server{URLs: []string{"http://a", "http://b"}}
	if eraIdentity(urls, 0) == eraIdentity(urls, 1) || eraIdentity(urls, 0) != eraIdentity(urls, 2) {
		t.Error("replicas with different URLs must have different identities")
	}
}

// A modern server takes all classes of clients on one connection. Its requests to clients name their calls, so it needs no leases.
func TestModernServerNeedsNoClassesOrLeases(t *testing.T) {
	w := newWorld(t, config.Server{Command: "x", Isolation: isolationClass, MaxBackends: 1, Queue: queue}, 1)
	info := &message.ServerInfo{Version: protocol.Version20260728}
	w.step(message.BackendChanged{Backend: w.backends[0], Phase: message.Syncing, Info: info})
	w.step(message.BackendChanged{Backend: w.backends[0], Phase: message.Ready, Info: info})
	call := func(seq uint64, can message.CapabilitySet) {
		w.step(message.Dispatch{Call: message.CallRef{Seq: seq}, Request: &message.Request{Server: "fake", Caller: &message.Caller{Can: can}}})
	}
	call(1, 0)
	call(2, message.CanForm)
	if len(w.sent) != 2 || len(w.s.replicas.connections) != 1 {
		t.Fatalf("%d calls sent over %d connections, want both over one", len(w.sent), len(w.s.replicas.connections))
	}
	w.step(message.CallParked{Backend: w.backends[0], Call: message.CallRef{Seq: 1}, Yes: true})
	call(3, 0)
	if w.s.isLeased() || len(w.sent) != 3 {
		t.Errorf("leased %v, %d calls sent; want no lease and 3", w.s.isLeased(), len(w.sent))
	}
}

// If replicas speak different eras, a retry with the requestState of a modern one is sent to a modern one.
func TestRetryWithStateGoesToAModernReplica(t *testing.T) {
	w := newWorld(t, config.Server{Command: "x", Replicas: 2, Queue: queue}, 2)
	for i, version := range []string{protocol.Version20251125, protocol.Version20260728} {
		w.step(message.BackendChanged{Backend: w.backends[i], Phase: message.Ready, Info: &message.ServerInfo{Version: version}})
	}
	for seq := range uint64(4) {
		r := &message.Request{Caller: &message.Caller{}, Server: "fake", Modern: true}
		r.Params.RequestState = rawjson.Span{Off: 1, End: 2}
		w.step(message.Dispatch{Call: message.CallRef{Seq: seq}, Request: r})
		if w.sent[seq] != w.backends[1] {
			t.Errorf("retry %d was sent to the legacy replica", seq)
		}
	}
}

// Class connections are drained when the server has become modern.
func TestClassesEndWhenAServerBecomesModern(t *testing.T) {
	w := newWorld(t, config.Server{Command: "x", Isolation: isolationClass, Queue: queue}, 1)
	w.phase(0, message.Ready)
	w.step(message.Dispatch{Call: message.CallRef{Seq: 1}, Request: &message.Request{Server: "fake", Caller: &message.Caller{Can: message.CanForm}}})
	system := kernel.New(kernel.Options{})
	t.Cleanup(func() { actortest.Stop(t, system) })
	class := actortest.NewProbe(system, "class")
	w.step(spawned{2, class.Reference})
	drains, _ := told[message.Drain, spawn](w, message.BackendChanged{Backend: w.backends[0], Phase: message.Syncing, Info: &message.ServerInfo{Version: protocol.Version20260728}})
	if len(drains) != 1 {
		t.Errorf("%d connections drained, want the class connection", len(drains))
	}
	w.step(message.BackendChanged{Backend: w.backends[0], Phase: message.Ready, Info: &message.ServerInfo{Version: protocol.Version20260728}})
	if w.sent[1] != w.backends[0] {
		t.Error("the queued call was not sent to the main connection")
	}
}

func TestServerThatNeedsALogin(t *testing.T) {
	w := newWorld(t, config.Server{Command: "x", Queue: queue}, 1)
	w.step(message.BackendChanged{Backend: w.backends[0], Phase: message.NeedsLogin, Reason: "the server answered HTTP 401 (Unauthorized)", NextAttempt: w.now.Add(3 * time.Second)})
	w.dispatch(1)
	if f := w.fault(1, protocol.NeedsLogin); f.RetryAfter != 3*time.Second {
		t.Errorf("retry after %s", f.RetryAfter)
	}
	if r := w.s.report(); r.State != string(message.NeedsLogin) || r.Hint == "" {
		t.Errorf("status %+v", r)
	}
}

package pool

import (
	"testing"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
)

// A new connection gets the log level that clients set before it was opened.
func TestNewConnectionGetsTheLogLevel(t *testing.T) {
	w := newWorld(t, config.Server{Command: "x", Queue: queue}, 1)
	if levels, _ := told[message.SetLevel, spawn](w, spawned{1, w.backends[0]}); len(levels) != 0 {
		t.Errorf("levels %v although no client has set one", levels)
	}
	w.step(message.SetLevel{Level: "debug"})
	_, next := told[message.SetLevel, spawn](w, message.Restart{})
	if len(next) != 1 {
		t.Fatalf("%d connections after a restart, want 1", len(next))
	}
	system := kernel.New(kernel.Options{})
	t.Cleanup(func() { actortest.Stop(t, system) })
	levels, _ := told[message.SetLevel, spawn](w, spawned{next[0].number, actortest.NewProbe(system, "next").Reference})
	if len(levels) != 1 || levels[0].Level != "debug" {
		t.Errorf("the next connection got %v, want debug", levels)
	}
}

// When a connection is lost, other connections to the same replica check whether they are lost, too.
func TestLossMakesOthersCheckTheirConnection(t *testing.T) {
	w := newWorld(t, config.Server{Command: "x", Isolation: isolationClass, Queue: queue}, 2)
	w.phase(0, message.Ready)
	w.phase(1, message.Ready)
	_, made := told[message.CheckConnection, spawn](w, message.Dispatch{Call: message.CallRef{Seq: 1}, Request: &message.Request{Server: "fake", Caller: &message.Caller{Can: message.CanForm}}})
	if len(made) != 2 {
		t.Fatalf("%d connections for a class, want one for each replica", len(made))
	}
	system := kernel.New(kernel.Options{})
	t.Cleanup(func() { actortest.Stop(t, system) })
	class := actortest.NewProbe(system, "class").Reference
	w.step(spawned{made[0].number, class})
	w.step(message.BackendChanged{Backend: class, Replica: made[0].replica, Phase: message.Ready, Info: &message.ServerInfo{}, Incarnation: 1})
	var looked []kernel.Reference
	lost := message.BackendChanged{Backend: class, Replica: made[0].replica, Phase: message.Waiting, Reason: "connection refused", NextAttempt: w.now}
	for _, e := range step(w.s, w.now, lost, nil) {
		if _, ok := e.Msg.(message.CheckConnection); ok {
			looked = append(looked, e.To)
		}
	}
	if len(looked) != 1 || looked[0] != w.backends[made[0].replica] {
		t.Errorf("told to check: %v, want the other connection of that replica, %v", looked, w.backends[made[0].replica])
	}
}

package pool

import (
	"testing"

	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
)

// A connection that replaces another continues its count, so that goblin_backend_restarts_total never decreases.
func TestRestartCountContinues(t *testing.T) {
	w := newWorld(t, config.Server{}, 2)
	w.step(message.BackendChanged{Backend: w.backends[1], Replica: 1, Phase: message.Ready, Incarnation: 7, Info: &message.ServerInfo{}})
	_, spawned := told[message.Drain, spawn](w, message.Restart{})
	if len(spawned) != 2 || spawned[0].before != 0 || spawned[1].before != 7 {
		t.Errorf("got %+v, want two that follow 0 and 7 connections", spawned)
	}
}

// The status counts parked calls separately.
func TestParkedCallsInTheReport(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	w.phase(0, message.Ready)
	for seq := range uint64(3) {
		w.dispatch(seq)
	}
	w.step(message.CallParked{Backend: w.backends[0], Call: message.CallRef{Seq: 1}, Yes: true})
	if r := w.s.report(); r.InFlight != 3 || r.Parked != 1 {
		t.Errorf("%d in flight, %d of them parked; want 3 and 1", r.InFlight, r.Parked)
	}
	w.step(message.CallParked{Backend: w.backends[0], Call: message.CallRef{Seq: 1}})
	if r := w.s.report(); r.InFlight != 3 || r.Parked != 0 {
		t.Errorf("after the answer %d in flight, %d of them parked; want 3 and 0", r.InFlight, r.Parked)
	}
}

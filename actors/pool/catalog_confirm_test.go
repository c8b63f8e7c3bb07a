package pool

import (
	"testing"

	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
)

// A server is reported as ready when clients see its catalog. Before that, calls by its new names would fail.
func TestReadyWhenCatalogIsVisible(t *testing.T) {
	w := newWorld(t, config.Server{}, 1)
	shows := func(when string, want message.Phase) {
		t.Helper()
		ready := 0
		if want == message.Ready {
			ready = 1
		}
		if r := w.s.report(); r.State != string(want) || r.ReadyCount != ready {
			t.Errorf("%s: %s, %d ready, want %s", when, r.State, r.ReadyCount, want)
		}
	}
	w.phase(0, message.Syncing)
	w.phase(0, message.Ready)
	shows("not in the catalog", message.Syncing)
	w.dispatch(1)
	if len(w.sent) != 1 {
		t.Error("a call waited for the confirmation")
	}
	w.step(message.ConfirmResult{Key: 7})
	shows("confirmation of another connection", message.Syncing)
	w.step(message.ConfirmResult{Key: 1})
	shows("in the catalog", message.Ready)
	w.phase(0, message.Waiting)
	w.phase(0, message.Ready)
	w.step(message.ConfirmResult{Key: 1})
	shows("confirmation of an earlier connection", message.Syncing)
	w.step(message.ConfirmResult{Key: 2})
	shows("its own confirmation", message.Ready)
}

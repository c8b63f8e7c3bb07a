package pool

import (
	"testing"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
)

// The last error stays in the status until the server has been available for ten minutes.
func TestLastErrorInTheReport(t *testing.T) {
	w := newWorld(t, config.Server{}, 1)
	w.step(kernel.Started{})
	w.step(spawned{1, w.backends[0]})
	reported := func(want string, tries int) {
		t.Helper()
		if r := inspected(w); r.LastError != want || r.LastErrorTries != tries || r.LastErrorAt.IsZero() != (want == "") {
			t.Errorf("last error %q after %d tries at %v, want %q after %d", r.LastError, r.LastErrorTries, r.LastErrorAt, want, tries)
		}
	}
	fails := func(reason, line string) {
		w.phase(0, message.Connecting)
		w.step(message.BackendChanged{Backend: w.backends[0], Phase: message.Waiting, Reason: reason, LastLine: line})
	}
	reported("", 0)
	fails("connection refused", "")
	fails("exit status 1", "Error: TOKEN is not set")
	w.step(message.BackendChanged{Backend: w.backends[0], Phase: message.Waiting, Reason: "only the next attempt has changed"})
	failed := w.s.now
	want := message.Explain("exit status 1", "Error: TOKEN is not set")
	reported(want, 2)
	w.phase(0, message.Ready)
	reported(want, 2)
	w.after(keepError - 1)
	if r := inspected(w); !r.LastErrorAt.Equal(failed) {
		t.Errorf("error at %v, want %v", r.LastErrorAt, failed)
	}
	reported(want, 2)
	fails("lost again", "") // before the time is over
	reported("lost again", 3)
	w.phase(0, message.Ready)
	w.after(keepError - 1)
	reported("lost again", 3)
	w.after(1)
	reported("", 0)
	fails("a new error", "")
	reported("a new error", 1)
}

// A failure of a connection that is not main does not count as a failure of the server.
func TestLastErrorOfATenant(t *testing.T) {
	w := newWorld(t, config.Server{}, 1)
	w.step(kernel.Started{})
	w.step(spawned{1, w.backends[0]})
	w.phase(0, message.Ready)
	w.s.replicas.connections[0].main = false
	w.step(message.BackendChanged{Backend: w.backends[0], Phase: message.NeedsLogin, Reason: "not logged in"})
	if r := inspected(w); r.LastError != "" {
		t.Errorf("last error %q of a connection that is not main", r.LastError)
	}
}

// The status says what queued calls wait for.
func TestQueueWaitsInTheReport(t *testing.T) {
	w := newWorld(t, config.Server{MaxConcurrent: 2, Queue: queue}, 1)
	w.step(kernel.Started{})
	w.step(spawned{1, w.backends[0]})
	says := func(want string) {
		t.Helper()
		if got := inspected(w).QueueWaits; got != want {
			t.Errorf("queued calls wait for %q, want %q", got, want)
		}
	}
	says("")
	w.phase(0, message.Syncing)
	w.dispatch(1)
	says("the server, which is syncing")
	w.phase(0, message.Ready)
	says("")
	w.dispatch(2)
	w.dispatch(3)
	says("a free slot of 2")
}

// inspected returns the server's status now.
func inspected(w *world) (r status.Server) {
	w.step(message.Inspect{Reply: func(part any) { r = part.(status.Server) }})
	return r
}

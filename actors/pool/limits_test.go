package pool

import (
	"fmt"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// Limits are exact: a request at the limit is accepted, and the next one is refused.
func TestLimitsAreExact(t *testing.T) {
	for _, limit := range []int{1, 2, 5} {
		w := newWorld(t, config.Server{MaxConcurrent: limit, Queue: config.Queue{Size: limit, Timeout: time.Minute}}, 1)
		w.phase(0, message.Ready)
		for seq := range uint64(2*limit + 1) {
			w.dispatch(seq)
		}
		if len(w.sent) != limit || w.s.calls.queue.len() != limit || len(w.failed) != 1 {
			t.Errorf("limit %d: %d sent, %d queued, %d refused; want %d, %d, 1", limit, len(w.sent), w.s.calls.queue.len(), len(w.failed), limit, limit)
		}
	}
	w := newWorld(t, config.Server{Queue: queue}, 1)
	w.phase(0, message.Ready)
	refused := 0
	for seq := range uint64(maxRefreshes + 1) {
		results, _ := told[message.RefreshResult, spawn](w, message.Refresh{Kind: protocol.Tools, Seq: seq})
		refused += len(results)
	}
	if refused != 1 {
		t.Errorf("%d of %d refreshes were answered at once, want 1", refused, maxRefreshes+1)
	}
	var p pauses
	s := &state{calls: calls{pauses: p}, replicas: newReplicas(nil)}
	for i := range maxPauses + 1 {
		s.beginPause(w.now, &connection{replica: i}, time.Second, nil)
	}
	if n := len(s.calls.pauses.until); n != maxPauses {
		t.Errorf("%d pauses, want %d", n, maxPauses)
	}
	s.beginPause(w.now, &connection{replica: 0}, time.Hour, nil)
	if got := s.calls.pauses.until[pauseKey{}].Sub(w.now); got != longestPause {
		t.Errorf("a pause lasts %v, want at most %v", got, longestPause)
	}
}

// An unchanged catalog is stored again at the age of refreshAfter, but not a nanosecond earlier.
func TestCatalogIsStoredAgainWhenItIsOld(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	w.phase(0, message.Syncing)
	w.lists(0, "a")
	w.ready(0)
	stored := func() int {
		found, _ := told[message.RememberCatalog, spawn](w, message.Listed{Backend: w.backends[0], Kind: protocol.Tools, Items: [][]byte{[]byte("a")}})
		return len(found)
	}
	w.now = w.now.Add(refreshAfter - 1)
	if n := stored(); n != 0 {
		t.Errorf("stored %d times before refreshAfter", n)
	}
	w.now = w.now.Add(1)
	if n := stored(); n != 1 {
		t.Errorf("stored %d times at refreshAfter, want 1", n)
	}
}

// A setting that a reload changes applies to the next call, without new connections.
func TestReloadedSettingsApply(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*config.Server)
		check  func(*world) string // what is wrong; "" = nothing
	}{
		"maxConcurrent": {func(s *config.Server) { s.MaxConcurrent = 2 }, func(w *world) string {
			w.dispatch(1)
			if len(w.sent) != 2 {
				return fmt.Sprintf("%d calls run", len(w.sent))
			}
			return ""
		}},
		"queue.size": {func(s *config.Server) { s.Queue.Size = 1 }, func(w *world) string {
			w.dispatch(1)
			w.dispatch(2)
			if w.s.calls.queue.len() != 1 || w.failed[2] == nil {
				return fmt.Sprintf("%d calls wait", w.s.calls.queue.len())
			}
			return ""
		}},
		"queue.timeout": {func(s *config.Server) { s.Queue.Timeout = time.Second }, func(w *world) string {
			for _, timer := range w.wakeups(message.Dispatch{Call: message.CallRef{Seq: 1}, Request: &message.Request{Caller: &message.Caller{}}}) {
				if _, ok := timer.Msg.(queueExpired); ok && timer.After == time.Second {
					return ""
				}
			}
			return "no timer of one second"
		}},
		"startup and idleStop": {func(s *config.Server) { s.Startup, s.IdleStop = startupLazy, time.Second }, func(w *world) string {
			if !w.s.isLazy() || w.s.idle.timer == 0 {
				return "the server is not lazy"
			}
			return ""
		}},
	} {
		w := newWorld(t, config.Server{MaxConcurrent: 1, Queue: queue}, 1)
		w.phase(0, message.Ready)
		w.dispatch(0)
		server := w.s.server
		c.change(&server)
		w.step(message.Reconfigure{Server: server})
		if len(w.s.replicas.connections) != 1 {
			t.Errorf("%s: the reload opened connections", name)
		}
		if wrong := c.check(w); wrong != "" {
			t.Errorf("%s: %s", name, wrong)
		}
	}
	w := newWorld(t, config.Server{Queue: queue}, 1)
	w.phase(0, message.Ready)
	w.step(message.NewLimits{Limits: config.Limits{ParkedPerServer: 1}})
	w.dispatch(0)
	w.dispatch(1)
	for seq := range uint64(2) {
		w.step(message.CallParked{Backend: w.backends[0], Call: message.CallRef{Holder: kernel.Reference{}, Seq: seq}, Yes: true})
	}
	w.fault(1, protocol.Overloaded)
}

// A restart after a panic uses the current configuration, not the one that the pool was started with.
func TestRestartKeepsTheReloadedConfiguration(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	server := w.s.server
	server.MaxConcurrent = 7
	w.step(message.Reconfigure{Server: server})
	w.step(message.NewLimits{Limits: config.Limits{ParkedPerServer: 9}})
	if r := w.s.catalog.remembered; r.server.MaxConcurrent != 7 || r.limits.ParkedPerServer != 9 {
		t.Errorf("after a restart: maxConcurrent %d and parkedPerServer %d, want 7 and 9", r.server.MaxConcurrent, r.limits.ParkedPerServer)
	}
}

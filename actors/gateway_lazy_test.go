package actors

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream/pipe"
)

func makeLazy(c *config.Config) {
	for i := range c.Servers {
		c.Servers[i].Startup = "lazy"
	}
}

func (h *house) server(i int) status.Server {
	h.t.Helper()
	s, err := h.gateway.Status(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	at := slices.IndexFunc(s.Servers, func(server status.Server) bool { return server.Name == fleetName(i) })
	if at < 0 {
		h.t.Fatalf("no server %s in the status", fleetName(i))
	}
	return s.Servers[at]
}

func (h *house) state(i int) string { return h.server(i).State }

func fleetCall(id, i int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s_a"}}`, id, fleetName(i))
}

// A lazy server that was never seen is started once, to learn what it offers, and stopped when nobody has wanted anything of it for
// idleStop. What it offers stays listed; a call starts it again, and it counts anew from the last use.
func TestALazyServer(t *testing.T) {
	within(func(t *testing.T) {
		f := newFleet(1, func(int) *actortest.Server { return &actortest.Server{Tools: []string{"a"}} })
		h := f.open(t, makeLazy)
		defer h.close()
		h.initialize()
		time.Sleep(10*time.Minute - 2*time.Second)
		if got := h.state(0); got != "ready" {
			t.Fatalf("before idleStop: %s", got)
		}
		time.Sleep(4 * time.Second)
		if got := h.server(0); got.State != "idle" || got.Tools != 1 || got.ReadyCount != 0 || got.Replicas != 1 {
			t.Fatalf("after idleStop: %+v", got)
		}
		h.got()
		time.Sleep(time.Hour)
		if got := h.got(); len(got) != 0 {
			t.Errorf("the client was told %v when the server was stopped", got)
		}
		for i := range 3 {
			if got := h.one(fleetCall(i, 0)); !strings.Contains(got, "echo") {
				t.Errorf("call %d: %s", i, got)
			}
			if n := f.servers[0].Opened(); n != 2 {
				t.Errorf("call %d: opened %d times, want 2", i, n)
			}
			time.Sleep(9 * time.Minute)
		}
		time.Sleep(2 * time.Minute)
		if got := h.state(0); got != "idle" {
			t.Errorf("after the last call: %s", got)
		}
		if got := toolNames(t, h.one(`{"jsonrpc":"2.0","id":9,"method":"tools/list"}`)); len(got) != 1 {
			t.Errorf("tools/list: %v", got)
		}
	})(t)
}

// What a lazy server offers is known from disk: it is not started with the gateway.
func TestALazyServerIsNotStartedAgain(t *testing.T) {
	within(func(t *testing.T) {
		f := newFleet(2, func(int) *actortest.Server { return &actortest.Server{Tools: []string{"a"}} })
		state := filepath.Join(t.TempDir(), "state")
		first := f.openWith(t, Options{State: state}, makeLazy)
		time.Sleep(time.Second)
		first.close()
		h := f.openWith(t, Options{State: state}, makeLazy)
		defer h.close()
		h.initialize()
		if s, err := h.gateway.Status(t.Context()); err != nil || !s.Ready {
			t.Errorf("not ready: %+v, %v", s, err)
		}
		if got := toolNames(t, h.one(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)); len(got) != 2 {
			t.Errorf("tools/list: %v", got)
		}
		time.Sleep(time.Hour)
		if a, b := f.servers[0].Opened(), f.servers[1].Opened(); a != 1 || b != 1 {
			t.Fatalf("opened %d and %d times before a call", a, b)
		}
		if got := h.one(fleetCall(2, 1)); !strings.Contains(got, "echo") {
			t.Errorf("the call: %s", got)
		}
		if a, b := f.servers[0].Opened(), f.servers[1].Opened(); a != 1 || b != 2 {
			t.Errorf("opened %d and %d times after the call", a, b)
		}
	})(t)
}

// A thousand lazy servers called at once: each call is answered, by its own server.
func TestAThousandLazyServersCalledAtOnce(t *testing.T) {
	const many = 1000
	if testing.Short() {
		t.Skip("a thousand servers take seconds")
	}
	within(func(t *testing.T) {
		f := newFleet(many, func(int) *actortest.Server { return &actortest.Server{Tools: []string{"a"}} })
		h := f.open(t, func(c *config.Config) {
			makeLazy(c)
			c.Limits.MaxInFlightPerClient = many
		})
		defer h.close()
		h.initialize()
		time.Sleep(15 * time.Minute)
		h.got()
		var calls []string
		for i := range many {
			if f.servers[i].Opened() != 1 {
				t.Fatalf("server %d was opened %d times", i, f.servers[i].Opened())
			}
			calls = append(calls, fleetCall(i, i))
		}
		var answers []string
		for batch := range slices.Chunk(calls, 100) { // no time passes between them
			answers = append(answers, h.send(batch...)...)
		}
		time.Sleep(time.Second)
		for _, got := range append(answers, h.got()...) {
			if !strings.Contains(got, "echo") {
				t.Fatalf("a call failed: %s", got)
			}
		}
		for i := range many {
			if f.servers[i].Opened() != 2 || len(f.servers[i].Received("tools/call")) != 1 {
				t.Fatalf("server %d: opened %d times, %d calls", i, f.servers[i].Opened(), len(f.servers[i].Received("tools/call")))
			}
		}
	})(t)
}

// A lazy server that dies in its first call costs that call; the next starts it again. One that never comes up fails the calls that
// waited for it as soon as it is known.
func TestALazyServerThatDiesInItsFirstCall(t *testing.T) {
	within(func(t *testing.T) {
		dies := &actortest.Server{Tools: []string{"a"}, Handle: func(p *pipe.Peer, _ protocol.Frame, _ []byte) { p.Close(fmt.Errorf("exit status 3")) }}
		f := newFleet(1, func(int) *actortest.Server { return dies })
		h := f.open(t, makeLazy)
		defer h.close()
		h.initialize()
		for round := range 3 {
			time.Sleep(15 * time.Minute)
			h.got()
			if got := h.state(0); got != "idle" {
				t.Fatalf("round %d: %s", round, got)
			}
			if got := h.one(fleetCall(round, 0)); !strings.Contains(got, "BACKEND_DISCONNECTED") || !strings.Contains(got, "exit status 3") {
				t.Errorf("round %d: %s", round, got)
			}
		}
		time.Sleep(15 * time.Minute)
		dies.SetRefuse(fmt.Errorf("no such file"))
		if got := h.one(fleetCall(9, 0)); !strings.Contains(got, "SERVER_UNAVAILABLE") || !strings.Contains(got, "no such file") {
			t.Errorf("it does not start: %s", got)
		}
		time.Sleep(15 * time.Minute)
		if got := h.server(0); got.State != "idle" || !strings.Contains(got.Reason, "no such file") {
			t.Errorf("stopped while it did not start: %+v", got)
		}
	})(t)
}

// A reload makes a sleeping server eager and an eager one lazy; a lazy one that is switched off in the middle of its start ends, and
// the call that waited is answered.
func TestStartupIsReloaded(t *testing.T) {
	within(func(t *testing.T) {
		f := newFleet(1, func(int) *actortest.Server { return &actortest.Server{Tools: []string{"a"}} })
		h := f.open(t, nil)
		defer h.close()
		h.initialize()
		reload := func(change func(*config.Server)) {
			next := config.Default()
			next.Servers = []config.Server{fleetServer(0)}
			change(&next.Servers[0])
			h.gateway.Reload(&next)
			synctest.Wait()
		}
		time.Sleep(time.Hour)
		reload(func(s *config.Server) { s.Startup = "lazy" })
		time.Sleep(9 * time.Minute)
		if got := h.state(0); got != "ready" {
			t.Fatalf("just made lazy: %s", got)
		}
		reload(func(s *config.Server) { s.Startup, s.IdleStop = "lazy", time.Minute })
		time.Sleep(61 * time.Second)
		if got := h.state(0); got != "idle" {
			t.Fatalf("lazy for long enough: %s", got)
		}
		reload(func(*config.Server) {})
		time.Sleep(time.Hour)
		if got := h.state(0); got != "ready" || f.servers[0].Opened() != 2 {
			t.Fatalf("eager again: %s, opened %d times", got, f.servers[0].Opened())
		}
		reload(func(s *config.Server) { s.Startup = "lazy" })
		time.Sleep(11 * time.Minute)
		h.got()
		f.servers[0].IgnoreInitialize = true
		if got := h.send(fleetCall(1, 0)); len(got) != 0 {
			t.Fatalf("answered before it was up: %v", got)
		}
		reload(func(s *config.Server) { s.Startup, s.Disabled = "lazy", true })
		time.Sleep(time.Second)
		if got := strings.Join(h.got(), "\n"); !strings.Contains(got, "SERVER_UNAVAILABLE") {
			t.Errorf("switched off in the middle of its start: %s", got)
		}
	})(t)
}

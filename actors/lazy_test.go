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

func (h *stdioHarness) serverStatus(i int) status.Server {
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

func (h *stdioHarness) serverState(i int) string { return h.serverStatus(i).State }

func fleetCall(id, i int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s_a"}}`, id, fleetName(i))
}

// A lazy server without a cached catalog is started once to list its items, and stopped after idleStop without requests. Its
// items stay listed. A call starts it again, and idleStop then counts from the last use.
func TestLazyServer(t *testing.T) {
	inBubble(func(t *testing.T) {
		f := newFleet(1, func(int) *actortest.Server { return &actortest.Server{Tools: []string{"a"}} })
		h := f.open(t, makeLazy)
		defer h.close()
		h.initialize()
		time.Sleep(10*time.Minute - 2*time.Second)
		if got := h.serverState(0); got != "ready" {
			t.Fatalf("before idleStop: %s", got)
		}
		time.Sleep(4 * time.Second)
		if got := h.serverStatus(0); got.State != "idle" || got.Tools != 1 || got.ReadyCount != 0 || got.Replicas != 1 {
			t.Fatalf("after idleStop: %+v", got)
		}
		h.received()
		time.Sleep(time.Hour)
		if got := h.received(); len(got) != 0 {
			t.Errorf("the client got %v when the server was stopped", got)
		}
		for i := range 3 {
			if got := h.roundTrip(fleetCall(i, 0)); !strings.Contains(got, "echo") {
				t.Errorf("call %d: %s", i, got)
			}
			if n := f.servers[0].Opened(); n != 2 {
				t.Errorf("call %d: opened %d times, want 2", i, n)
			}
			time.Sleep(9 * time.Minute)
		}
		time.Sleep(2 * time.Minute)
		if got := h.serverState(0); got != "idle" {
			t.Errorf("after the last call: %s", got)
		}
		if got := toolNames(t, h.roundTrip(`{"jsonrpc":"2.0","id":9,"method":"tools/list"}`)); len(got) != 1 {
			t.Errorf("tools/list: %v", got)
		}
	})(t)
}

// A lazy server with a cached catalog is not started with the gateway.
func TestLazyServerWithCachedCatalog(t *testing.T) {
	inBubble(func(t *testing.T) {
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
		if got := toolNames(t, h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)); len(got) != 2 {
			t.Errorf("tools/list: %v", got)
		}
		time.Sleep(time.Hour)
		if a, b := f.servers[0].Opened(), f.servers[1].Opened(); a != 1 || b != 1 {
			t.Fatalf("opened %d and %d times before a call", a, b)
		}
		if got := h.roundTrip(fleetCall(2, 1)); !strings.Contains(got, "echo") {
			t.Errorf("call: %s", got)
		}
		if a, b := f.servers[0].Opened(), f.servers[1].Opened(); a != 1 || b != 2 {
			t.Errorf("opened %d and %d times after the call", a, b)
		}
	})(t)
}

// A thousand lazy servers are called at once. Each call is answered by its own server.
func TestManyLazyServersCalledAtOnce(t *testing.T) {
	const many = 1000
	if testing.Short() {
		t.Skip("a thousand servers take seconds")
	}
	inBubble(func(t *testing.T) {
		f := newFleet(many, func(int) *actortest.Server { return &actortest.Server{Tools: []string{"a"}} })
		h := f.open(t, func(c *config.Config) {
			makeLazy(c)
			c.Limits.MaxInFlightPerClient = many
		})
		defer h.close()
		h.initialize()
		time.Sleep(15 * time.Minute)
		h.received()
		var calls []string
		for i := range many {
			if f.servers[i].Opened() != 1 {
				t.Fatalf("server %d was opened %d times", i, f.servers[i].Opened())
			}
			calls = append(calls, fleetCall(i, i))
		}
		var answers []string
		for batch := range slices.Chunk(calls, 100) { // in batches; no time passes between them
			answers = append(answers, h.send(batch...)...)
		}
		time.Sleep(time.Second)
		for _, got := range append(answers, h.received()...) {
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

// When a lazy server dies during its first call, that call fails and the next one starts the server again. When it cannot be
// started, waiting calls fail at once.
func TestLazyServerDiesDuringCall(t *testing.T) {
	inBubble(func(t *testing.T) {
		dies := &actortest.Server{Tools: []string{"a"}, Handle: func(p *pipe.Peer, _ protocol.Frame, _ []byte) { p.Close(fmt.Errorf("exit status 3")) }}
		f := newFleet(1, func(int) *actortest.Server { return dies })
		h := f.open(t, makeLazy)
		defer h.close()
		h.initialize()
		for round := range 3 {
			time.Sleep(15 * time.Minute)
			h.received()
			if got := h.serverState(0); got != "idle" {
				t.Fatalf("round %d: %s", round, got)
			}
			if got := h.roundTrip(fleetCall(round, 0)); !strings.Contains(got, "BACKEND_DISCONNECTED") || !strings.Contains(got, "exit status 3") {
				t.Errorf("round %d: %s", round, got)
			}
		}
		time.Sleep(15 * time.Minute)
		dies.SetRefuse(fmt.Errorf("no such file"))
		if got := h.roundTrip(fleetCall(9, 0)); !strings.Contains(got, "SERVER_UNAVAILABLE") || !strings.Contains(got, "no such file") {
			t.Errorf("a server that cannot be started: %s", got)
		}
		time.Sleep(15 * time.Minute)
		if got := h.serverStatus(0); got.State != "idle" || !strings.Contains(got.Reason, "no such file") {
			t.Errorf("idle after a failed start: %+v", got)
		}
	})(t)
}

// A reload can change startup in both directions. A lazy server that is disabled while it starts ends, and the waiting call
// is answered.
func TestReloadStartup(t *testing.T) {
	inBubble(func(t *testing.T) {
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
		if got := h.serverState(0); got != "ready" {
			t.Fatalf("right after it became lazy: %s", got)
		}
		reload(func(s *config.Server) { s.Startup, s.IdleStop = "lazy", time.Minute })
		time.Sleep(61 * time.Second)
		if got := h.serverState(0); got != "idle" {
			t.Fatalf("lazy for longer than idleStop: %s", got)
		}
		reload(func(*config.Server) {})
		time.Sleep(time.Hour)
		if got := h.serverState(0); got != "ready" || f.servers[0].Opened() != 2 {
			t.Fatalf("eager again: %s, opened %d times", got, f.servers[0].Opened())
		}
		reload(func(s *config.Server) { s.Startup = "lazy" })
		time.Sleep(11 * time.Minute)
		h.received()
		f.servers[0].IgnoreInitialize = true
		if got := h.send(fleetCall(1, 0)); len(got) != 0 {
			t.Fatalf("answered before the server was ready: %v", got)
		}
		reload(func(s *config.Server) { s.Startup, s.Disabled = "lazy", true })
		time.Sleep(time.Second)
		if got := strings.Join(h.received(), "\n"); !strings.Contains(got, "SERVER_UNAVAILABLE") {
			t.Errorf("disabled while it starts: %s", got)
		}
	})(t)
}

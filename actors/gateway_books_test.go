package actors

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
)

// Sessions that end the moment they begin are forgotten: a gateway that nobody uses stops at once.
func TestSessionsThatEndAtOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	w := serveWeb(t, map[string]*actortest.Server{"one": {Tools: []string{"a"}}}, func(c *config.Config) { c.Limits.MaxSessions = 1_000_000 })
	refused := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	var clients sync.WaitGroup
	for range 16 {
		clients.Go(func() {
			for range 250 {
				w.do("POST", "/mcp", refused)
			}
		})
	}
	clients.Wait()
	began := time.Now()
	if err := w.gateway.Stop(t.Context(), time.Hour); err != nil || time.Since(began) > time.Minute {
		t.Errorf("stopping an idle gateway took %v (%v)", time.Since(began), err)
	}
}

// Switched off and on again before its connections have ended, a server is there as before.
func TestReloadOffAndOnAtOnce(t *testing.T) {
	within(func(t *testing.T) {
		server := &tardy{Server: &actortest.Server{Tools: []string{"slow"}}}
		var first config.Config
		h := openOn(t, server.openers(), "stdio", Options{}, func(c *config.Config) { first = *c })
		defer h.close()
		h.initialize()
		gate := make(chan struct{})
		server.set(false, gate)
		h.send(fmt.Sprintf(oneSlow, 1)) // its connection is busy: it takes a while to end
		for range 3 {
			h.gateway.Reload(without(first))
			h.gateway.Reload(&first)
		}
		synctest.Wait()
		server.set(false, nil)
		close(gate)
		time.Sleep(time.Second)
		h.got()
		if got := h.one(fmt.Sprintf(oneSlow, 2)); !strings.Contains(got, "echo") {
			t.Errorf("a call afterwards: %s", got)
		}
		h.gateway.Reload(without(first))
		time.Sleep(time.Second)
		h.got()
		if got := toolNames(t, h.one(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)); len(got) != 0 {
			t.Errorf("switched off: %v", got)
		}
	})(t)
}

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

// Sessions that end immediately after they begin leave no state behind: a gateway without clients stops at once.
func TestSessionsThatEndAtOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	w := startHTTP(t, map[string]*actortest.Server{"one": {Tools: []string{"a"}}}, func(c *config.Config) { c.Limits.MaxSessions = 1_000_000 })
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

// A server that is disabled and enabled again before its connections have ended works as before.
func TestReloadDisableAndEnableAtOnce(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &silentServer{Server: &actortest.Server{Tools: []string{"slow"}}}
		var first config.Config
		h := startStdioWith(t, server.openers(), "stdio", Options{}, func(c *config.Config) { first = *c })
		defer h.close()
		h.initialize()
		gate := make(chan struct{})
		server.set(false, gate)
		h.send(fmt.Sprintf(oneSlow, 1)) // keeps the connection busy, so that it takes a while to end
		for range 3 {
			h.gateway.Reload(withFirstDisabled(first))
			h.gateway.Reload(&first)
		}
		synctest.Wait()
		server.set(false, nil)
		close(gate)
		time.Sleep(time.Second)
		h.received()
		if got := h.roundTrip(fmt.Sprintf(oneSlow, 2)); !strings.Contains(got, "echo") {
			t.Errorf("a call afterwards: %s", got)
		}
		h.gateway.Reload(withFirstDisabled(first))
		time.Sleep(time.Second)
		h.received()
		if got := toolNames(t, h.roundTrip(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)); len(got) != 0 {
			t.Errorf("disabled: %v", got)
		}
	})(t)
}

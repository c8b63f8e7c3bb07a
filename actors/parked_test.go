package actors

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
)

// Ten thousand calls wait for their clients: each holds at most 8 KiB and no goroutine; all expire; nothing is left.
func TestTenThousandParkedCalls(t *testing.T) {
	const calls = parkedCalls
	within(func(t *testing.T) {
		server := asks(elicit)
		h := open(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) {
			c.Limits.MaxInFlightPerClient, c.Limits.ParkedPerClient, c.Limits.ParkedPerServer = 0, 0, 0
			c.Servers[0].MaxConcurrent = 0
			c.Servers[0].Queue = config.Queue{Size: calls, Timeout: time.Hour}
		})
		defer h.close()
		h.ready()
		before, goroutines := heap(), runtime.NumGoroutine()
		for i := range calls {
			h.send(modernCall(i, allCapabilities, ""))
			if i%100 == 99 {
				time.Sleep(30 * time.Millisecond)
				for _, line := range h.got() {
					if !strings.Contains(line, "input_required") {
						t.Fatalf("got %s", line)
					}
				}
			}
		}
		s, err := h.gateway.Status(t.Context())
		if err != nil || len(s.Calls) != calls {
			t.Fatalf("%d calls in the status (%v), want %d", len(s.Calls), err, calls)
		}
		s = nil
		if each := (heap() - before) / calls; each > 8<<10 {
			t.Errorf("a parked call holds %d bytes, want at most 8 KiB", each)
		} else {
			t.Logf("a parked call holds %d bytes", each)
		}
		if n := runtime.NumGoroutine() - goroutines; n > 100 {
			t.Errorf("%d goroutines more", n)
		}
		time.Sleep(time.Hour) // limits.parkedCall
		h.got()
		if s, err = h.gateway.Status(t.Context()); err != nil || len(s.Calls) != 0 {
			t.Errorf("%d calls are left (%v)", len(s.Calls), err)
		}
		if n := len(server.Answers()); n != calls {
			t.Errorf("%d of the server's questions were answered, want %d", n, calls)
		}
	})(t)
}

func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

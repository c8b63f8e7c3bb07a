package actors

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream/pipe"
)

// Ten thousand calls are parked. Each holds at most 8 KiB and no goroutine. All of them expire, and no state remains.
func TestTenThousandParkedCalls(t *testing.T) {
	const calls = parkedCalls
	inBubble(func(t *testing.T) {
		server := serverAsking(elicit)
		h := startStdio(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) {
			c.Limits.MaxInFlightPerClient, c.Limits.ParkedPerClient, c.Limits.ParkedPerServer = 0, 0, 0
			c.Servers[0].MaxConcurrent = 0
			c.Servers[0].Queue = config.Queue{Size: calls, Timeout: time.Hour}
		})
		defer h.close()
		h.waitReady()
		before, goroutines := heap(), runtime.NumGoroutine()
		for i := range calls {
			h.send(modernCall(i, allCapabilities, ""))
			if i%100 == 99 {
				time.Sleep(30 * time.Millisecond)
				for _, line := range h.received() {
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
			t.Errorf("%d additional goroutines", n)
		}
		time.Sleep(time.Hour) // longer than limits.parkedCall
		h.received()
		if s, err = h.gateway.Status(t.Context()); err != nil || len(s.Calls) != 0 {
			t.Errorf("%d calls remain (%v)", len(s.Calls), err)
		}
		if n := len(server.Answers()); n != calls {
			t.Errorf("%d of the server's requests were answered, want %d", n, calls)
		}
	})(t)
}

// A client may abandon a parked call without notice. At the limit, its oldest parked call is canceled at the server in favor
// of a new one. A later retry of that call gets an error that says so.
func TestAbandonedParkedCallIsEvicted(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := serverAsking(elicit)
		h := startStdio(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) {
			c.Limits.ParkedPerClient = 2
			c.Servers[0].MaxConcurrent = 0
		})
		defer h.close()
		h.waitReady()
		var first string
		for i := range 10 {
			h.send(modernCall(i, allCapabilities, ""))
			time.Sleep(time.Second)
			got := h.received()
			if len(got) != 1 || !strings.Contains(got[0], "input_required") {
				t.Fatalf("call %d: got %q, want an input request", i, got)
			}
			if i == 0 {
				first = parseModern(t, got[0]).Result.RequestState
			}
		}
		if s, err := h.gateway.Status(t.Context()); err != nil || len(s.Calls) != 2 {
			t.Errorf("%d calls in the status (%v), want 2", len(s.Calls), err)
		}
		if n := len(server.Received("notifications/cancelled")); n != 8 {
			t.Errorf("%d calls were canceled at the server, want 8", n)
		}
		answer := fmt.Sprintf(`,"requestState":%q,"inputResponses":{"q1":{"action":"accept","content":{}}}`, first)
		if r := parseModern(t, h.roundTrip(modernCall(99, allCapabilities, answer))); r.Error == nil || !strings.Contains(r.Error.Message, "parkedPerClient") {
			t.Errorf("the retry of the canceled call: %+v", r)
		}
	})(t)
}

// Programs on one machine share an address but are limited separately.
func TestProgramsOfOneMachine(t *testing.T) {
	server := &actortest.Server{Tools: []string{"ask"}, Handle: func(p *pipe.Peer, f protocol.Frame, id []byte) {
		if strings.Contains(string(f.Raw), `"wait"`) {
			return
		}
		_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[]}`)))
	}}
	w := startHTTP(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) { c.Limits.MaxInFlightPerClient = 1 })
	call := func(name, what string) string {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
			`"io.modelcontextprotocol/clientInfo":{"name":"` + name + `","version":"1"}},"name":"one_ask","arguments":{"a":"` + what + `"}}}`
		_, answer := w.raw("/mcp", body, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: one_ask")
		return answer
	}
	sessions := runtime.GOMAXPROCS(0) // each accepts one call of a client
	for range sessions {
		go call("a", "wait")
	}
	for deadline := time.Now().Add(2 * time.Minute); len(server.Received("tools/call")) < sessions; {
		if time.Now().After(deadline) {
			t.Fatal("the calls did not arrive")
		}
	}
	if got := call("a", "go"); !strings.Contains(got, "OVERLOADED") {
		t.Errorf("another call of the same program: %s", got)
	}
	if got := call("b", "go"); !strings.Contains(got, `"content":[]`) {
		t.Errorf("another program: %s", got)
	}
}

func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

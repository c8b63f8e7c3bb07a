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

// A client that comes back with no answer gives its call up without a word. The oldest such call makes room for the next
// question: it is cancelled at its server, and whoever comes back for it after all is told so.
func TestCallsThatWereGivenUpMakeRoom(t *testing.T) {
	within(func(t *testing.T) {
		server := asks(elicit)
		desks := runtime.GOMAXPROCS(0) // of which a client on stdin and stdout has one: two of its calls may wait
		h := open(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) {
			c.Limits.ParkedPerClient = 2 * desks
			c.Servers[0].MaxConcurrent = 0
		})
		defer h.close()
		h.ready()
		var first string
		for i := range 10 {
			h.send(modernCall(i, allCapabilities, ""))
			time.Sleep(time.Second)
			got := h.got()
			if len(got) != 1 || !strings.Contains(got[0], "input_required") {
				t.Fatalf("call %d: got %q, want a question", i, got)
			}
			if i == 0 {
				first = parseModern(t, got[0]).Result.RequestState
			}
		}
		if s, err := h.gateway.Status(t.Context()); err != nil || len(s.Calls) != 2 {
			t.Errorf("%d calls in the status (%v), want 2", len(s.Calls), err)
		}
		if n := len(server.Received("notifications/cancelled")); n != 8 {
			t.Errorf("%d calls were cancelled at the server, want 8", n)
		}
		answer := fmt.Sprintf(`,"requestState":%q,"inputResponses":{"q1":{"action":"accept","content":{}}}`, first)
		if r := parseModern(t, h.one(modernCall(99, allCapabilities, answer))); r.Error == nil || !strings.Contains(r.Error.Message, "parkedPerClient") {
			t.Errorf("the first client, back at last: %+v", r)
		}
	})(t)
}

// Programs of one machine have one address and are counted each for itself.
func TestProgramsOfOneMachine(t *testing.T) {
	server := &actortest.Server{Tools: []string{"ask"}, Handle: func(p *pipe.Peer, f protocol.Frame, id []byte) {
		if strings.Contains(string(f.Raw), `"wait"`) {
			return
		}
		_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[]}`)))
	}}
	w := serveWeb(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) { c.Limits.MaxInFlightPerClient = 1 })
	call := func(name, what string) string {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
			`"io.modelcontextprotocol/clientInfo":{"name":"` + name + `","version":"1"}},"name":"one_ask","arguments":{"a":"` + what + `"}}}`
		_, answer := w.raw("/mcp", body, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: one_ask")
		return answer
	}
	desks := runtime.GOMAXPROCS(0) // each takes one call of a client
	for range desks {
		go call("a", "wait")
	}
	for deadline := time.Now().Add(2 * time.Minute); len(server.Received("tools/call")) < desks; {
		if time.Now().After(deadline) {
			t.Fatal("the calls did not arrive")
		}
	}
	if got := call("a", "go"); !strings.Contains(got, "OVERLOADED") {
		t.Errorf("the same program once more: %s", got)
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

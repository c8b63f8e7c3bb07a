package actors

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream/pipe"
)

// failingServer is a server that closes the connection of each of its first calls; failures is the number of these.
type failingServer struct {
	*actortest.Server
	mu       sync.Mutex
	failures int
	before   string // if set, progress is sent before each answer
}

func newFailingServer(breaks int) *failingServer {
	f := &failingServer{failures: breaks}
	f.Server = &actortest.Server{
		Tools: []string{`{"name":"act","inputSchema":{"type":"object"}}`, `{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`,
			`{"name":"set","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false,"idempotentHint":true}}`,
			`{"name":"no","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"true","idempotentHint":1}}`},
		Resources: []string{"file:///x"},
	}
	f.Handle = func(p *pipe.Peer, _ protocol.Frame, id []byte) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.before != "" {
			for value := range 3 {
				_ = p.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, id, value+f.failures))
			}
		}
		if f.failures--; f.failures >= 0 {
			p.Close(nil)
			return
		}
		_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[],"contents":[],"structuredContent":{"done":true}}`)))
	}
	return f
}

const callTool = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":%q,"_meta":{"progressToken":"t"}}}`

// A call that was written to a broken connection is retried once, if the configuration allows it and the call is safe to
// repeat.
func TestRetryOfWrittenCalls(t *testing.T) {
	read := `{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"resource://one/file:///x"}}`
	for _, c := range []struct {
		name, inFlight, line string
		breaks, sent         int
		answered             bool
	}{
		{"a tool without hints", "idempotent", fmt.Sprintf(callTool, "one_act"), 1, 1, false},
		{"a read-only tool", "idempotent", fmt.Sprintf(callTool, "one_look"), 1, 2, true},
		{"an idempotent tool", "idempotent", fmt.Sprintf(callTool, "one_set"), 1, 2, true},
		{"hints that are not booleans", "idempotent", fmt.Sprintf(callTool, "one_no"), 1, 1, false},
		{"a read", "idempotent", read, 1, 2, true},
		{"a read-only tool that fails twice", "idempotent", fmt.Sprintf(callTool, "one_look"), 2, 2, false},
		{"a read-only tool, with inFlight never", "never", fmt.Sprintf(callTool, "one_look"), 1, 1, false},
		{"a read, with inFlight never", "never", read, 1, 1, false},
	} {
		t.Run(c.name, inBubble(func(t *testing.T) {
			server := newFailingServer(c.breaks)
			h := startStdio(t, map[string]*actortest.Server{"one": server.Server}, func(cfg *config.Config) {
				cfg.Servers[0].Replicas, cfg.Servers[0].Retry.InFlight = 3, c.inFlight
			})
			defer h.close()
			h.initialize()
			got := h.send(c.line)
			time.Sleep(time.Minute)
			got = append(got, h.received()...)
			if len(got) != 1 || strings.Contains(got[0], `"result"`) != c.answered || !c.answered && !strings.Contains(got[0], "BACKEND_DISCONNECTED") {
				t.Errorf("responses %v", got)
			}
			if n := len(server.Received("tools/call")) + len(server.Received("resources/read")); n != c.sent {
				t.Errorf("the call was sent %d times, want %d", n, c.sent)
			}
		}))
	}
}

// A server has one connection, which breaks during a call. If it was ready for a minute, the next connection is opened at once and
// the call is retried on it. If it was ready for only a second, the call fails.
func TestRetryOnNextConnection(t *testing.T) {
	for _, c := range []struct {
		up       time.Duration
		answered bool
	}{{time.Minute, true}, {time.Second, false}} {
		inBubble(func(t *testing.T) {
			server := newFailingServer(1)
			h := startStdio(t, map[string]*actortest.Server{"one": server.Server}, func(cfg *config.Config) { cfg.Servers[0].Retry.InFlight = "idempotent" })
			defer h.close()
			h.initialize()
			time.Sleep(c.up)
			got := h.send(fmt.Sprintf(callTool, "one_look"))
			time.Sleep(time.Minute)
			got = append(got, h.received()...)
			if len(got) != 1 || strings.Contains(got[0], `"result"`) != c.answered {
				t.Errorf("after %v: responses %v", c.up, got)
			}
			if !c.answered && !strings.Contains(got[0], "BACKEND_DISCONNECTED") {
				t.Errorf("a call that was written got the error of one that was not: %v", got)
			}
		})(t)
	}
}

// The progress that a client sees keeps increasing even if the second server starts over.
func TestProgressOfRetriedCall(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := newFailingServer(1)
		server.before = "progress"
		h := startStdio(t, map[string]*actortest.Server{"one": server.Server}, func(cfg *config.Config) {
			cfg.Servers[0].Replicas, cfg.Servers[0].Retry.InFlight = 2, "idempotent"
		})
		defer h.close()
		h.initialize()
		var steps []string
		for _, line := range h.send(fmt.Sprintf(callTool, "one_look")) {
			if _, step, ok := strings.Cut(line, `"progress":`); ok {
				steps = append(steps, strings.TrimRight(step, "}"))
			}
		}
		if !slices.IsSorted(steps) || len(slices.Compact(slices.Clone(steps))) != len(steps) || len(steps) == 0 {
			t.Errorf("progress %v", steps)
		}
	})(t)
}

// A call whose server has sent a request to the client is not retried, because the client would get the request twice.
func TestCallWithServerRequestIsNotRetried(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := newFailingServer(0)
		var at *pipe.Peer
		server.Handle = func(p *pipe.Peer, _ protocol.Frame, _ []byte) {
			at = p
			_ = p.Send([]byte(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}`))
		}
		h := startStdio(t, map[string]*actortest.Server{"one": server.Server}, func(cfg *config.Config) {
			cfg.Servers[0].Replicas, cfg.Servers[0].Retry.InFlight = 2, "idempotent"
		})
		defer h.close()
		h.clientCapabilities = `{"elicitation":{}}`
		h.initialize()
		request := h.roundTrip(fmt.Sprintf(callTool, "one_look"))
		_, id, _ := strings.Cut(request, `"id":`)
		id, _, _ = strings.Cut(id, ",")
		h.send(`{"jsonrpc":"2.0","id":` + id + `,"result":{"action":"accept","content":{}}}`)
		if len(server.Answers()) != 1 {
			t.Fatal("the server got no answer")
		}
		at.Close(nil)
		time.Sleep(time.Minute)
		if n := len(server.Received("tools/call")); n != 1 {
			t.Errorf("the call was sent %d times, want 1", n)
		}
	})(t)
}

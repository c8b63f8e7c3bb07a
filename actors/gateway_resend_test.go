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

// frail is a server of which the connection breaks that a call comes to, as often as breaks says.
type frail struct {
	*actortest.Server
	mu     sync.Mutex
	breaks int
	before string // what it says before, with its request's progress token in place of %s
}

func newFrail(breaks int) *frail {
	f := &frail{breaks: breaks}
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
				_ = p.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, id, value+f.breaks))
			}
		}
		if f.breaks--; f.breaks >= 0 {
			p.Close(nil)
			return
		}
		_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[],"contents":[],"structuredContent":{"done":true}}`)))
	}
	return f
}

const callTool = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":%q,"_meta":{"progressToken":"t"}}}`

// What was written to a connection that broke is sent again, once, where the configuration allows it and it does no harm.
func TestWhatMayBeSentAgain(t *testing.T) {
	read := `{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"resource://one/file:///x"}}`
	for _, c := range []struct {
		name, inFlight, line string
		breaks, sent         int
		answered             bool
	}{
		{"an ordinary tool", "idempotent", fmt.Sprintf(callTool, "one_act"), 1, 1, false},
		{"one that only reads", "idempotent", fmt.Sprintf(callTool, "one_look"), 1, 2, true},
		{"an idempotent one", "idempotent", fmt.Sprintf(callTool, "one_set"), 1, 2, true},
		{"hints that are no booleans", "idempotent", fmt.Sprintf(callTool, "one_no"), 1, 1, false},
		{"a read", "idempotent", read, 1, 2, true},
		{"twice", "idempotent", fmt.Sprintf(callTool, "one_look"), 2, 2, false},
		{"never, a tool", "never", fmt.Sprintf(callTool, "one_look"), 1, 1, false},
		{"never, a read", "never", read, 1, 1, false},
	} {
		t.Run(c.name, within(func(t *testing.T) {
			server := newFrail(c.breaks)
			h := open(t, map[string]*actortest.Server{"one": server.Server}, func(cfg *config.Config) {
				cfg.Servers[0].Replicas, cfg.Servers[0].Retry.InFlight = 3, c.inFlight
			})
			defer h.close()
			h.initialize()
			got := h.send(c.line)
			time.Sleep(time.Minute)
			got = append(got, h.got()...)
			if len(got) != 1 || strings.Contains(got[0], `"result"`) != c.answered || !c.answered && !strings.Contains(got[0], "BACKEND_DISCONNECTED") {
				t.Errorf("answered %v", got)
			}
			if n := len(server.Received("tools/call")) + len(server.Received("resources/read")); n != c.sent {
				t.Errorf("it was sent %d times, want %d", n, c.sent)
			}
		}))
	}
}

// A server with one connection gets the call on the next one, if that comes at once, as it does where the first was there for a while.
func TestSentAgainOnTheNextConnection(t *testing.T) {
	for _, c := range []struct {
		up       time.Duration
		answered bool
	}{{time.Minute, true}, {time.Second, false}} {
		within(func(t *testing.T) {
			server := newFrail(1)
			h := open(t, map[string]*actortest.Server{"one": server.Server}, func(cfg *config.Config) { cfg.Servers[0].Retry.InFlight = "idempotent" })
			defer h.close()
			h.initialize()
			time.Sleep(c.up)
			got := h.send(fmt.Sprintf(callTool, "one_look"))
			time.Sleep(time.Minute)
			got = append(got, h.got()...)
			if len(got) != 1 || strings.Contains(got[0], `"result"`) != c.answered {
				t.Errorf("after %v: answered %v", c.up, got)
			}
			if !c.answered && !strings.Contains(got[0], "BACKEND_DISCONNECTED") {
				t.Errorf("a call that was written is refused as if it had not been: %v", got)
			}
		})(t)
	}
}

// The progress a client is told of grows, also when the second server begins anew.
func TestProgressOfWhatIsSentAgain(t *testing.T) {
	within(func(t *testing.T) {
		server := newFrail(1)
		server.before = "progress"
		h := open(t, map[string]*actortest.Server{"one": server.Server}, func(cfg *config.Config) {
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

// A call whose server has asked something is half done: nobody is asked the same again.
func TestAHalfAskedCallIsNotSentAgain(t *testing.T) {
	within(func(t *testing.T) {
		server := newFrail(0)
		var at *pipe.Peer
		server.Handle = func(p *pipe.Peer, _ protocol.Frame, _ []byte) {
			at = p
			_ = p.Send([]byte(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}`))
		}
		h := open(t, map[string]*actortest.Server{"one": server.Server}, func(cfg *config.Config) {
			cfg.Servers[0].Replicas, cfg.Servers[0].Retry.InFlight = 2, "idempotent"
		})
		defer h.close()
		h.can = `{"elicitation":{}}`
		h.initialize()
		asked := h.one(fmt.Sprintf(callTool, "one_look"))
		_, id, _ := strings.Cut(asked, `"id":`)
		id, _, _ = strings.Cut(id, ",")
		h.send(`{"jsonrpc":"2.0","id":` + id + `,"result":{"action":"accept","content":{}}}`)
		if len(server.Answers()) != 1 {
			t.Fatal("the server has no answer")
		}
		at.Close(nil)
		time.Sleep(time.Minute)
		if n := len(server.Received("tools/call")); n != 1 {
			t.Errorf("it was sent %d times, want once", n)
		}
	})(t)
}

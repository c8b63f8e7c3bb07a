package actors

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream/pipe"
)

func TestOneCallThroughEveryActor(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"add"}, Instructions: "use add"}
		h := startStdio(t, map[string]*actortest.Server{"one": server, "two": {Tools: []string{"add"}}}, nil)
		defer h.close()
		time.Sleep(time.Second)
		answer := h.roundTrip(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"1990-01-01","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
		if !strings.Contains(answer, `"protocolVersion":"2025-11-25"`) || !strings.Contains(answer, "use add") {
			t.Errorf("initialize: %s", answer)
		}
		h.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		time.Sleep(time.Second)
		h.received()
		// S3.1.1, S4.1.1: the tools of both servers are listed under unique names.
		if got := toolNames(t, h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)); len(got) != 2 || got[0] != "one_add" || got[1] != "two_add" {
			t.Errorf("tools/list: %v", got)
		}
		// S3.2.1: the call is routed to the server in its name, and the response has the client's ID byte for byte.
		answer = h.roundTrip(`{"jsonrpc":"2.0","id":1e3,"method":"tools/call","params":{"name":"one_add","arguments":{}}}`)
		if answer != `{"jsonrpc":"2.0","id":1e3,"result":{"content":[{"type":"text","text":"echo"}]}}` {
			t.Errorf("tools/call: %s", answer)
		}
		if n := len(server.Received("tools/call")); n != 1 {
			t.Errorf("the server got %d calls, want 1", n)
		}
		if got := h.roundTrip(`{"jsonrpc":"2.0","id":2,"method":"ping"}`); got != `{"jsonrpc":"2.0","id":2,"result":{}}` {
			t.Errorf("ping: %s", got)
		}
	})(t)
}

func TestGatewayErrors(t *testing.T) {
	tests := []struct{ name, line, want string }{
		{"unknown tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one_sub"}}`, // S2.5.2, S3.2.2
			`"error":{"code":-32602,"message":"Tool not found: one_sub"`},
		{"unknown replica", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one:add@1"}}`, `"error":{"code":-32602,"message":"Tool not found: one:add@1"`},
		{"unknown resource", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///nowhere"}}`, // S0.5.2, S0.9.1
			`"error":{"code":-32002,"message":"Resource not found: file:///nowhere"`},
		{"unknown prompt", `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"x"}}`, `"code":-32602,"message":"Prompt not found: x"`},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"tools/frobnicate"}`, `"code":-32601`},
		{"bad cursor", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"%%%"}}`, `"code":-32602`},
		{"name of the wrong type", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`, `"code":-3260`},
		{"bad level", `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"loud"}}`, `"code":-32602`},
		{"second initialize", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, `"code":-32600`},
		{"garbage", `{"jsonrpc":`, `"code":-32700`},
	}
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"add"}}
		h := startStdio(t, map[string]*actortest.Server{"one": server, "two": {}}, nil)
		defer h.close()
		h.initialize()
		for _, test := range tests {
			if got := h.roundTrip(test.line); !strings.Contains(got, test.want) {
				t.Errorf("%s: got %s, want %s", test.name, got, test.want)
			}
		}
		if n := len(server.Received("tools/call")) + len(server.Received("resources/read")); n != 0 {
			t.Errorf("the server got %d requests, want none", n)
		}
		if got := toolNames(t, h.roundTrip(`{"jsonrpc":"2.0","id":9,"method":"tools/list"}`)); len(got) != 1 {
			t.Errorf("afterwards: %v", got)
		}
	})(t)
}

// S0.4.3: lists are answered from the catalog in both eras, without a request to a server.
func TestListsCauseNoServerRequests(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"a"}, Resources: []string{"file:///a"}, Templates: []string{"file:///{x}"}}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.initialize()
		for _, method := range []string{"tools/list", "resources/list", "resources/templates/list"} {
			before := len(server.Received(method))
			h.roundTrip(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q}`, method))
			h.roundTrip(modern(2, method, "{}", ""))
			time.Sleep(time.Minute)
			if n := len(server.Received(method)); before != 1 || n != before {
				t.Errorf("%s: the server got %d requests before the client's list, %d after", method, before, n)
			}
		}
	})(t)
}

// S4.5.1, S4.1.3, S1.61: changes are announced. Several may be combined, but the last one is never lost.
func TestListChangedReachesTheClient(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"a"}}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.initialize()
		time.Sleep(time.Second)
		h.received()
		for i := range 20 {
			server.SetTools(true, "a", fmt.Sprintf("b%d", i))
		}
		time.Sleep(time.Second)
		got := h.received()
		if len(got) == 0 || len(got) > 3 {
			t.Fatalf("%d notifications, want 1 to 3:\n%s", len(got), strings.Join(got, "\n"))
		}
		for _, line := range got {
			if line != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` {
				t.Errorf("got %s", line)
			}
		}
		if got := toolNames(t, h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)); len(got) != 2 || got[1] != "one_b19" {
			t.Errorf("tools/list: %v, want the last change", got)
		}
	})(t)
}

func TestProgressCancelAndTimeout(t *testing.T) {
	inBubble(func(t *testing.T) {
		var peer *pipe.Peer
		server := &actortest.Server{Tools: []string{"slow"}}
		server.Handle = func(p *pipe.Peer, _ protocol.Frame, _ []byte) { peer = p }
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.initialize()
		call := `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"one_slow","_meta":{"progressToken":"tok"}}}`
		h.send(fmt.Sprintf(call, 1))
		id := string(server.Received("tools/call")[0].IDBytes())
		time.Sleep(29 * time.Second)
		_ = peer.Send([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + id + `,"progress":1,"total":4}}`))
		if got := h.received(); len(got) != 1 || got[0] != `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"tok","progress":1,"total":4}}` {
			t.Fatalf("progress: %v", got)
		}
		if s, err := h.gateway.Status(t.Context()); err != nil || len(s.Calls) != 1 || s.Calls[0].Progress != 1 || s.Calls[0].Total != 4 {
			t.Errorf("calls in the status: %+v, %v", s, err)
		}
		time.Sleep(29 * time.Second) // progress has extended the deadline
		if got := h.received(); len(got) != 0 {
			t.Fatalf("got %v before the timeout", got)
		}
		time.Sleep(time.Second)
		if got := h.received(); len(got) != 1 || !strings.Contains(got[0], `"TIMEOUT"`) { // S2.6.1
			t.Fatalf("timeout: %v", got)
		}
		if n := len(server.Received("notifications/cancelled")); n != 1 {
			t.Fatalf("the server got %d cancellations, want 1", n)
		}
		h.send(fmt.Sprintf(call, 2))
		h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`) // an unknown ID
		if n := len(server.Received("notifications/cancelled")); n != 1 {
			t.Fatal("a cancellation of an unknown ID reached the server")
		}
		if got := h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`); len(got) != 0 {
			t.Errorf("a canceled call was answered: %v", got)
		}
		if n := len(server.Received("notifications/cancelled")); n != 2 {
			t.Errorf("the server got %d cancellations, want 2", n)
		}
	})(t)
}

// S4.3.1, S3.2.3: when a server dies, its calls fail and its tools stay listed. Other servers are not affected, and the
// server is restarted.
func TestServerDies(t *testing.T) {
	inBubble(func(t *testing.T) {
		one := &actortest.Server{Tools: []string{"slow"}, Handle: func(*pipe.Peer, protocol.Frame, []byte) {}}
		h := startStdio(t, map[string]*actortest.Server{"one": one, "two": {Tools: []string{"add"}}}, nil)
		defer h.close()
		h.initialize()
		h.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one_slow"}}`)
		one.Last().Close(errors.New("signal: killed"))
		if got := h.received(); len(got) != 1 || !strings.Contains(got[0], `"BACKEND_DISCONNECTED"`) || !strings.Contains(got[0], "signal: killed") {
			t.Fatalf("got %v, want one BACKEND_DISCONNECTED", got)
		}
		if got := h.roundTrip(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_slow"}}`); !strings.Contains(got, `"SERVER_UNAVAILABLE"`) || !strings.Contains(got, "retryAfterMs") {
			t.Errorf("got %s, want SERVER_UNAVAILABLE", got)
		}
		if got := h.roundTrip(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"two_add"}}`); !strings.Contains(got, "echo") {
			t.Errorf("the other server: %s", got)
		}
		if got := toolNames(t, h.roundTrip(`{"jsonrpc":"2.0","id":4,"method":"tools/list"}`)); len(got) != 2 {
			t.Errorf("tools/list: %v, want both", got)
		}
		time.Sleep(time.Second)
		h.received()
		if got := h.send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"one_slow"}}`); len(got) != 0 {
			t.Errorf("after a second: %v, want the call to run", got)
		}
	})(t)
}

// S3.6.1: with many calls at once, each response has the right ID.
func TestManyCallsAtOnce(t *testing.T) {
	inBubble(func(t *testing.T) {
		h := startStdio(t, map[string]*actortest.Server{"one": {Tools: []string{"add"}}}, nil)
		defer h.close()
		h.initialize()
		var lines []string
		for i := range 200 {
			lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":"c%d","method":"tools/call","params":{"name":"one_add"}}`, i))
		}
		seen := map[string]bool{}
		for _, line := range h.send(lines...) {
			var a struct {
				ID     string
				Result json.RawMessage
			}
			if err := json.Unmarshal([]byte(line), &a); err != nil || a.Result == nil || seen[a.ID] {
				t.Fatalf("invalid or duplicate response: %s", line)
			}
			seen[a.ID] = true
		}
		if len(seen) != 200 {
			t.Errorf("%d responses, want 200", len(seen))
		}
	})(t)
}

// On stdio, initialize waits for servers that are starting, but no longer than admission.StartWait.
func TestInitializeWaitsForServersOnStdio(t *testing.T) {
	inBubble(func(t *testing.T) {
		h := startStdio(t, map[string]*actortest.Server{"one": {Tools: []string{"a"}}, "two": {IgnoreInitialize: true}}, nil)
		defer h.close()
		line := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
		if got := h.send(line); len(got) != 0 {
			t.Fatalf("answered before the servers had started: %v", got)
		}
		time.Sleep(5 * time.Second)
		if got := h.received(); len(got) != 1 {
			t.Fatalf("after StartWait: %v, want the response", got)
		}
		if got := toolNames(t, h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)); len(got) != 1 {
			t.Errorf("tools/list: %v", got)
		}
	})(t)
}

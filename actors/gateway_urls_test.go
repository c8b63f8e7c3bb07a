package actors

import (
	"encoding/json"
	"fmt"
	"testing"

	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/transport"
)

// A legacy server says -32042, visit this first; a modern client is asked to, and its retry calls the server anew: nothing
// waits there. One that opens no URLs hears what it lacks. MCP 2025-11-25, client/elicitation, URL elicitation required
func TestURLsAModernClientHasToVisit(t *testing.T) {
	within(func(t *testing.T) {
		visited := false
		server := &actortest.Server{Tools: []string{"ask"}, Handle: func(p *transport.Peer, _ protocol.Frame, id []byte) {
			if visited {
				_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[{"type":"text","text":"in"}]}`)))
				return
			}
			_ = p.Send(protocol.AppendError(nil, id, -32042, "log in", []byte(`{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://example.invalid/","message":"log in"}]}`)))
		}}
		h := open(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.ready()
		if r := parseModern(t, h.one(modernCall(1, `{"elicitation":{"form":{}}}`, ""))); r.Error == nil || r.Error.Code != -32021 {
			t.Errorf("a client that opens no URLs got %+v, want -32021", r)
		}
		r := parseModern(t, h.one(modernCall(2, allCapabilities, "")))
		q := r.Result.InputRequests["q1"]
		want := `{"mode":"url","url":"https://example.invalid/","message":"log in"}`
		if r.Result.ResultType != "input_required" || len(r.Result.InputRequests) != 1 || q.Method != "elicitation/create" || string(q.Params) != want {
			t.Fatalf("got %+v, want one question of mode url", r)
		}
		visited = true
		back, err := json.Marshal(r.Result.RequestState)
		if err != nil {
			t.Fatal(err)
		}
		r = parseModern(t, h.one(modernCall(3, allCapabilities, fmt.Sprintf(`,"requestState":%s,"inputResponses":{"q1":{"action":"accept"}}`, back))))
		if r.Result.ResultType != "complete" || len(r.Result.Content) != 1 {
			t.Errorf("the retry got %+v, want the result", r)
		}
		if n := len(server.Got("tools/call")); n != 3 {
			t.Errorf("the server was called %d times, want 3", n)
		}
	})(t)
}

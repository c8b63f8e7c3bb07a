package actors

import (
	"encoding/json"
	"fmt"
	"testing"

	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream/pipe"
)

// A legacy server says -32042, visit this first; a modern client is asked to, and its retry calls the server anew: nothing
// waits there. One that opens no URLs hears what it lacks. MCP 2025-11-25, client/elicitation, URL elicitation required
func TestURLsAModernClientHasToVisit(t *testing.T) {
	within(func(t *testing.T) {
		visited := false
		server := &actortest.Server{Tools: []string{"ask"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
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
		want := `{"mode":"url","elicitationId":"e","url":"https://example.invalid/","message":"log in"}`
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
		if n := len(server.Received("tools/call")); n != 3 {
			t.Errorf("the server was called %d times, want 3", n)
		}
	})(t)
}

// A server that goes on to say -32042 after its place was asked for has its error passed on, in numbers the client knows: no
// window is opened twice. Another place is asked for, but not without end.
func TestAPlaceIsAskedForOnce(t *testing.T) {
	for name, c := range map[string]struct {
		place func(n int) string
		want  int // times the client is asked
	}{
		"the same":      {func(n int) string { return fmt.Sprintf("https://example.invalid/in?state=%d", n) }, 1},
		"always others": {func(n int) string { return fmt.Sprintf("https://example.invalid/%d", n) }, 3},
	} {
		t.Run(name, within(func(t *testing.T) {
			calls := 0
			server := &actortest.Server{Tools: []string{"ask"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
				calls++
				_ = p.Send(protocol.AppendError(nil, id, -32042, "log in", fmt.Appendf(nil, `{"elicitations":[{"mode":"url","elicitationId":"e","url":%q,"message":"log in"}]}`, c.place(calls))))
			}}
			h := open(t, map[string]*actortest.Server{"one": server}, nil)
			defer h.close()
			h.ready()
			asked, r := 0, parseModern(t, h.one(modernCall(0, allCapabilities, "")))
			for ; r.Result.ResultType == "input_required" && asked < 20; asked++ {
				r = parseModern(t, h.one(modernCall(1+asked, allCapabilities, fmt.Sprintf(`,"requestState":%q,"inputResponses":{"q1":{"action":"accept"}}`, r.Result.RequestState))))
			}
			if asked != c.want || r.Error == nil || r.Error.Code != -32603 || string(r.Error.Data["originalCode"]) != "-32042" || r.Error.Data["elicitations"] == nil {
				t.Errorf("asked %d times, want %d; at the end %+v", asked, c.want, r)
			}
		}))
	}
}

// A legacy client gets the error as it is, of a server of either era, and is told when the place was visited.
func TestURLsALegacyClientHasToVisit(t *testing.T) {
	const data = `{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://example.invalid/","message":"log in"}]}`
	const want = `{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"log in","data":` + data + `}}`
	within(func(t *testing.T) {
		server := &actortest.Modern{Tools: []string{"ask"}, Handle: func(g actortest.Message) { g.Error(-32042, "log in", data) }}
		h := openModern(t, server, Options{})
		defer h.close()
		h.can = allCapabilities
		h.initialize()
		h.want(call(1), want)
	})(t)
	within(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"ask"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			_ = p.Send(protocol.AppendError(nil, id, -32042, "log in", []byte(data)))
		}}
		h := open(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.can = allCapabilities
		h.initialize()
		h.want(call(1), want)
		const done = `{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e"}}`
		for range 2 { // it is said once
			_ = server.Last().Send([]byte(done))
		}
		if got := h.got(); len(got) != 1 || got[0] != done {
			t.Errorf("when it was visited: %q", got)
		}
	})(t)
}

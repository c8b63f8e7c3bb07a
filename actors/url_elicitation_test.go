package actors

import (
	"encoding/json"
	"fmt"
	"testing"

	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream/pipe"
)

// If a legacy server answers -32042 (URL elicitation required), a modern client gets an elicitation, and its retry calls
// the server again. A client without URL elicitation gets -32021 (a required capability is missing). MCP 2025-11-25,
// client/elicitation, URL elicitation required.
func TestURLElicitationModernClient(t *testing.T) {
	inBubble(func(t *testing.T) {
		visited := false
		server := &actortest.Server{Tools: []string{"ask"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			if visited {
				_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[{"type":"text","text":"in"}]}`)))
				return
			}
			_ = p.Send(protocol.AppendError(nil, id, -32042, "log in", []byte(`{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://example.invalid/","message":"log in"}]}`)))
		}}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.waitReady()
		if r := parseModern(t, h.roundTrip(modernCall(1, `{"elicitation":{"form":{}}}`, ""))); r.Error == nil || r.Error.Code != -32021 {
			t.Errorf("a client without URL elicitation got %+v, want -32021", r)
		}
		r := parseModern(t, h.roundTrip(modernCall(2, allCapabilities, "")))
		q := r.Result.InputRequests["q1"]
		want := `{"mode":"url","elicitationId":"e","url":"https://example.invalid/","message":"log in"}`
		if r.Result.ResultType != "input_required" || len(r.Result.InputRequests) != 1 || q.Method != "elicitation/create" || string(q.Params) != want {
			t.Fatalf("got %+v, want one elicitation of mode url", r)
		}
		visited = true
		back, err := json.Marshal(r.Result.RequestState)
		if err != nil {
			t.Fatal(err)
		}
		r = parseModern(t, h.roundTrip(modernCall(3, allCapabilities, fmt.Sprintf(`,"requestState":%s,"inputResponses":{"q1":{"action":"accept"}}`, back))))
		if r.Result.ResultType != "complete" || len(r.Result.Content) != 1 {
			t.Errorf("the retry got %+v, want the result", r)
		}
		if n := len(server.Received("tools/call")); n != 3 {
			t.Errorf("the server got %d calls, want 3", n)
		}
	})(t)
}

// If a server repeats -32042 with the same URL, apart from its query, its error is passed on under a code that the client knows, so
// that no page is opened twice. Other URLs cause further elicitations, up to a limit.
func TestURLElicitationIsNotRepeated(t *testing.T) {
	for name, c := range map[string]struct {
		url  func(n int) string
		want int // number of elicitations
	}{
		"same URL":       {func(n int) string { return fmt.Sprintf("https://example.invalid/in?state=%d", n) }, 1},
		"different URLs": {func(n int) string { return fmt.Sprintf("https://example.invalid/%d", n) }, 3},
	} {
		t.Run(name, inBubble(func(t *testing.T) {
			calls := 0
			server := &actortest.Server{Tools: []string{"ask"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
				calls++
				_ = p.Send(protocol.AppendError(nil, id, -32042, "log in", fmt.Appendf(nil, `{"elicitations":[{"mode":"url","elicitationId":"e","url":%q,"message":"log in"}]}`, c.url(calls))))
			}}
			h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
			defer h.close()
			h.waitReady()
			elicited, r := 0, parseModern(t, h.roundTrip(modernCall(0, allCapabilities, "")))
			for ; r.Result.ResultType == "input_required" && elicited < 20; elicited++ {
				r = parseModern(t, h.roundTrip(modernCall(1+elicited, allCapabilities, fmt.Sprintf(`,"requestState":%q,"inputResponses":{"q1":{"action":"accept"}}`, r.Result.RequestState))))
			}
			if elicited != c.want || r.Error == nil || r.Error.Code != -32603 || string(r.Error.Data["originalCode"]) != "-32042" || r.Error.Data["elicitations"] == nil {
				t.Errorf("%d elicitations, want %d; at the end %+v", elicited, c.want, r)
			}
		}))
	}
}

// A legacy client gets the error unchanged from a server of either era, and a notification when the elicitation is complete.
func TestURLElicitationLegacyClient(t *testing.T) {
	const data = `{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://example.invalid/","message":"log in"}]}`
	const want = `{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"log in","data":` + data + `}}`
	inBubble(func(t *testing.T) {
		server := &actortest.Modern{Tools: []string{"ask"}, Handle: func(g actortest.Message) { g.Error(-32042, "log in", data) }}
		h := openModern(t, server, Options{})
		defer h.close()
		h.clientCapabilities = allCapabilities
		h.initialize()
		h.expect(call(1), want)
	})(t)
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"ask"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			_ = p.Send(protocol.AppendError(nil, id, -32042, "log in", []byte(data)))
		}}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.clientCapabilities = allCapabilities
		h.initialize()
		h.expect(call(1), want)
		const done = `{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e"}}`
		for range 2 { // the notification is sent once
			_ = server.Last().Send([]byte(done))
		}
		if got := h.received(); len(got) != 1 || got[0] != done {
			t.Errorf("after completion: %q", got)
		}
	})(t)
}

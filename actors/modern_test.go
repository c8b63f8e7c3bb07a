package actors

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream/pipe"
)

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":%s}`

// modern returns a request of a modern client. The parameter rest holds more members of params, with a leading comma.
func modern(id int, method, capabilities, rest string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{`+modernMeta+`%s}}`, id, method, capabilities, rest)
}

func modernCall(id int, capabilities, rest string) string {
	return modern(id, "tools/call", capabilities, `,"name":"one_ask","arguments":{"a":1}`+rest)
}

type modernResult struct {
	ID     json.RawMessage
	Result struct {
		ResultType    string
		RequestState  string
		InputRequests map[string]struct {
			Method string
			Params json.RawMessage
		}
		Content []json.RawMessage
		TTLMs   *int
		Meta    map[string]json.RawMessage `json:"_meta"`
	}
	Error *struct {
		Code    int
		Message string
		Data    map[string]json.RawMessage
	}
}

func parseModern(t *testing.T, line string) modernResult {
	t.Helper()
	var r modernResult
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return r
}

// waitReady waits until the servers have started. A modern client needs no handshake.
func (h *stdioHarness) waitReady() {
	time.Sleep(time.Second)
	h.received()
}

func TestModernClientLegacyServer(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"ask"}}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.waitReady()
		r := parseModern(t, h.roundTrip(modern(1, "server/discover", "{}", "")))
		if r.Result.ResultType != "complete" || r.Result.Meta["io.modelcontextprotocol/serverInfo"] == nil || r.Result.TTLMs == nil {
			t.Errorf("discover: %+v", r)
		}
		line := h.roundTrip(modern(2, "tools/list", "{}", ""))
		if r := parseModern(t, line); r.Result.ResultType != "complete" || r.Result.TTLMs == nil || len(toolNames(t, line)) != 1 {
			t.Errorf("tools/list: %s", line)
		}
		r = parseModern(t, h.roundTrip(modernCall(3, "{}", "")))
		if r.Result.ResultType != "complete" || len(r.Result.Content) != 1 {
			t.Errorf("tools/call: %+v", r)
		}
		sent := string(server.Received("tools/call")[0].Raw)
		if strings.Contains(sent, "io.modelcontextprotocol") || !strings.Contains(sent, `"name":"ask"`) {
			t.Errorf("the legacy server got %s", sent)
		}
		if r := parseModern(t, h.roundTrip(modern(4, "ping", "{}", ""))); r.Error == nil || r.Error.Code != -32601 {
			t.Errorf("ping: %+v", r)
		}
		if r := parseModern(t, h.roundTrip(modern(5, "resources/read", "{}", `,"uri":"file:///no"`))); r.Error == nil || r.Error.Code != -32602 {
			t.Errorf("unknown resource: %+v", r)
		}
	})(t)
}

// serverAsking returns a legacy server that sends these requests, all at once, when its tool is called. It does not answer
// the call.
func serverAsking(requests ...string) *actortest.Server {
	return &actortest.Server{Tools: []string{"ask"}, Handle: func(p *pipe.Peer, _ protocol.Frame, _ []byte) {
		for i, q := range requests {
			_ = p.Send([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":"b%d",%s}`, i, q)))
		}
	}}
}

const (
	elicit  = `"method":"elicitation/create","params":{"message":"name?","requestedSchema":{"type":"object","properties":{}}}`
	sampled = `"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}`
)

// A modern client can use a legacy server that sends requests, which the specification lists as a combination that fails.
func TestModernClientAnswersLegacyServer(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := serverAsking(elicit, sampled)
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.waitReady()
		if got := h.send(modernCall(1, allCapabilities, "")); len(got) != 0 {
			t.Fatalf("answered at once: %v; want server requests collected for 30 ms", got)
		}
		time.Sleep(30 * time.Millisecond)
		got := h.received()
		if len(got) != 1 {
			t.Fatalf("got %v, want one input_required", got)
		}
		r := parseModern(t, got[0])
		if r.Result.ResultType != "input_required" || len(r.Result.InputRequests) != 2 || r.Result.RequestState == "" {
			t.Fatalf("got %s", got[0])
		}
		time.Sleep(5 * time.Minute) // no request is pending; the call stays parked
		answers := fmt.Sprintf(`,"requestState":%q,"inputResponses":{"q1":{"action":"accept","content":{"n":1.0}},"extra":{}}`, r.Result.RequestState)
		got = h.send(modernCall(2, allCapabilities, answers))
		back := server.Answers()
		if len(back) != 1 || string(back[0].Raw) != `{"jsonrpc":"2.0","id":"b0","result":{"action":"accept","content":{"n":1.0}}}` {
			t.Fatalf("the server got %v", back)
		}
		// The missing answer is requested again.
		if len(got) != 1 || !strings.Contains(got[0], `"id":2`) || !strings.Contains(got[0], `"inputRequests":{"q2":`) {
			t.Errorf("after one of two answers: %v, want the other one requested again", got)
		}
	})(t)
}

func TestRetriesOfParkedCall(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := serverAsking(elicit)
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.waitReady()
		h.send(modernCall(1, allCapabilities, ""))
		time.Sleep(30 * time.Millisecond)
		first := parseModern(t, h.received()[0])
		// An invalid answer is requested again. The call stays parked.
		bad := fmt.Sprintf(`,"requestState":%q,"inputResponses":{"q1":{"action":"perhaps"}}`, first.Result.RequestState)
		again := parseModern(t, h.roundTrip(modernCall(2, allCapabilities, bad)))
		if again.Result.ResultType != "input_required" || len(again.Result.InputRequests) != 1 {
			t.Fatalf("after an invalid answer: %+v", again)
		}
		good := fmt.Sprintf(`,"requestState":%q,"inputResponses":{"q1":{"action":"accept","content":{}}}`, again.Result.RequestState)
		if got := h.send(modernCall(3, allCapabilities, good)); len(got) != 0 {
			t.Fatalf("after the answer: %v, want the call to run", got)
		}
		h.send(modernCall(4, allCapabilities, good)) // the same retry, at once: both requests wait for the result
		if n := len(server.Answers()); n != 1 {
			t.Fatalf("the server got %d answers, want 1", n)
		}
		id := server.Received("tools/call")[0].IDBytes()
		_ = server.Last().Send(protocol.AppendResult(nil, id, []byte(`{"content":[{"type":"text","text":"hi"}]}`)))
		got := h.received()
		if len(got) != 2 || !strings.Contains(got[0]+got[1], `"id":3`) || !strings.Contains(got[0]+got[1], `"id":4`) {
			t.Fatalf("got %v, want the result for both requests", got)
		}
		late := parseModern(t, h.roundTrip(modernCall(5, allCapabilities, good))) // the client did not receive the result
		if len(late.Result.Content) != 1 {
			t.Errorf("the same retry after the result: %+v", late)
		}
		if n := len(server.Received("tools/call")); n != 1 {
			t.Errorf("the server got %d calls, want 1", n)
		}
	})(t)
}

func TestInvalidRequestState(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := serverAsking(elicit)
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.waitReady()
		h.send(modernCall(1, allCapabilities, ""))
		time.Sleep(30 * time.Millisecond)
		state := parseModern(t, h.received()[0]).Result.RequestState
		answer := `,"inputResponses":{"q1":{"action":"accept","content":{}}}`
		tests := []struct{ name, line string }{
			{"forged", modernCall(2, allCapabilities, `,"requestState":"AAAA"`+answer)},
			{"truncated", modernCall(3, allCapabilities, fmt.Sprintf(`,"requestState":%q`, state[:len(state)-3])+answer)},
			{"not a string", modernCall(4, allCapabilities, `,"requestState":7`+answer)},
			{"other arguments", strings.Replace(modernCall(5, allCapabilities, fmt.Sprintf(`,"requestState":%q`, state)+answer), `{"a":1}`, `{"a":2}`, 1)},
			{"other method", modern(6, "prompts/get", allCapabilities, fmt.Sprintf(`,"name":"one_ask","arguments":{"a":1},"requestState":%q`, state)+answer)},
		}
		for _, test := range tests {
			if r := parseModern(t, h.roundTrip(test.line)); r.Error == nil || r.Error.Code != -32602 {
				t.Errorf("%s: %+v, want -32602", test.name, r)
			}
		}
		if n := len(server.Answers()); n != 0 {
			t.Errorf("the server got %d answers", n)
		}
		time.Sleep(10*time.Minute + time.Second) // limits.parkedCall
		h.received()
		if back := server.Answers(); len(back) != 1 || !strings.Contains(string(back[0].Raw), `"action":"cancel"`) {
			t.Errorf("after parkedCall the server got %v, want its request canceled", back)
		}
		if n := len(server.Received("notifications/cancelled")); n != 1 {
			t.Errorf("%d cancellations, want 1", n)
		}
		if r := parseModern(t, h.roundTrip(modernCall(7, allCapabilities, fmt.Sprintf(`,"requestState":%q`, state)+answer))); r.Error == nil || r.Error.Code != -32602 {
			t.Errorf("expired: %+v, want -32602", r)
		}
	})(t)
}

func TestModernClientLacksCapability(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := serverAsking(sampled)
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.waitReady()
		r := parseModern(t, h.roundTrip(modernCall(1, `{"elicitation":{}}`, "")))
		if r.Error == nil || r.Error.Code != -32021 || string(r.Error.Data["requiredCapabilities"]) != `{"sampling":{}}` {
			t.Errorf("got %+v, want -32021 naming sampling", r)
		}
		if back := server.Answers(); len(back) != 0 {
			t.Errorf("the server's request was answered in addition to the cancellation: %v", back)
		}
		if n := len(server.Received("notifications/cancelled")); n != 1 {
			t.Errorf("%d cancellations, want 1", n)
		}
	})(t)
}

// The result of a completion cannot be input_required. A legacy server's request during a completion is refused, and the completion
// continues. An error that asks for input becomes an internal error. MCP 2026-07-28, basic/patterns/mrtr, supported requests.
func TestServerRequestDuringCompletion(t *testing.T) {
	tests := []struct{ name, frame, answer, want string }{
		{"a server request", `{"jsonrpc":"2.0","id":"b",` + elicit + `}`, `"result":{"completion":{"values":["x"]}}`, `"values":["x"]`},
		{"an error that asks for input", "", `"error":{"code":-32042,"message":"log in","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://example.invalid/","message":"log in"}]}}`, `"code":-32603`},
	}
	for _, test := range tests {
		t.Run(test.name, inBubble(func(t *testing.T) {
			server := &actortest.Server{Prompts: []string{"p"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
				if test.frame != "" {
					_ = p.Send([]byte(test.frame))
					return
				}
				_ = p.Send([]byte(`{"jsonrpc":"2.0","id":` + string(id) + `,` + test.answer + `}`))
			}}
			h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
			defer h.close()
			h.waitReady()
			got := h.send(modern(1, "completion/complete", allCapabilities, `,"ref":{"type":"ref/prompt","name":"one_p"},"argument":{"name":"a","value":"x"}`))
			if test.frame != "" {
				time.Sleep(time.Second)
				if got = append(got, h.received()...); len(got) != 0 {
					t.Fatalf("the client got %q, want the completion to continue", got)
				}
				if back := server.Answers(); len(back) != 1 || back[0].Kind != protocol.KindError {
					t.Fatalf("the answer to the server's request: %v, want an error", back)
				}
				if n := len(server.Received("notifications/cancelled")); n != 0 {
					t.Fatalf("the server got %d cancellations, want none", n)
				}
				_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","id":` + string(server.Received("completion/complete")[0].IDBytes()) + `,` + test.answer + `}`))
				got = h.received()
			}
			if len(got) != 1 || !strings.Contains(got[0], test.want) {
				t.Errorf("got %q, want %s", got, test.want)
			}
		}))
	}
}

// MCP 2026-07-28, subscriptions: the acknowledgment comes first. Every message carries the ID of the listen request.
func TestListen(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"a"}, Resources: []string{"file:///a"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			_ = p.Send(protocol.AppendResult(nil, id, []byte("{}")))
		}}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.waitReady()
		filter := `,"notifications":{"toolsListChanged":true,"resourceSubscriptions":["resource://one/file:///a","resource://one/file:///no"]}`
		got := h.send(modern(9, "subscriptions/listen", "{}", filter))
		want := `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":9},"notifications":{"resourceSubscriptions":["resource://one/file:///a"],"toolsListChanged":true}}}`
		if len(got) != 1 || got[0] != want {
			t.Fatalf("got %v, want %s", got, want)
		}
		server.SetTools(true, "a", "b")
		time.Sleep(time.Second)
		if got := h.received(); len(got) != 1 || got[0] != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":9}}}` {
			t.Errorf("list_changed: %v", got)
		}
		_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}`))
		if got := h.received(); len(got) != 1 || !strings.Contains(got[0], `"uri":"resource://one/file:///a"`) || !strings.Contains(got[0], `subscriptionId":9`) {
			t.Errorf("update: %v", got)
		}
		if got := h.send(modern(10, "subscriptions/listen", "{}", `,"notifications":{}`)); len(got) != 2 || !strings.Contains(got[1], `"id":10,"result"`) {
			t.Errorf("an empty filter: %v, want the acknowledgment and the end", got)
		}
	})(t)
}

// On stdio, a cancellation applies to the request with its ID, be it a call or a subscription stream. It may state its era,
// as TypeScript SDK v2 does, or not.
func TestCancelOverStdio(t *testing.T) {
	for name, meta := range map[string]string{"no era": "", "modern": `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`} {
		t.Run(name, inBubble(func(t *testing.T) {
			server := &actortest.Server{Tools: []string{"ask"}, Handle: func(*pipe.Peer, protocol.Frame, []byte) {}}
			h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
			defer h.close()
			h.waitReady()
			h.send(modernCall(1, "{}", ""))
			h.send(modern(2, "subscriptions/listen", "{}", `,"notifications":{"toolsListChanged":true}`))
			cancel := func(id int) string {
				return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d%s}}`, id, meta)
			}
			if got := h.send(cancel(1)); len(got) != 0 || len(server.Received("notifications/cancelled")) != 1 {
				t.Errorf("canceled call: got %v, and the server got %d cancellations, want 1", got, len(server.Received("notifications/cancelled")))
			}
			if got := h.send(cancel(2)); len(got) != 0 {
				t.Errorf("canceled stream: %v, want no more messages", got)
			}
			server.SetTools(true, "ask", "more")
			time.Sleep(time.Second)
			if got := h.received(); len(got) != 0 {
				t.Errorf("after the end of the stream: %v", got)
			}
		}))
	}
}

// A cancellation that directly follows its request does not overtake it on the way to the stateless session, the
// subscription stream, the pool or the backend.
func TestCancelRightAfterRequest(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"ask"}, Handle: func(*pipe.Peer, protocol.Frame, []byte) {}}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.waitReady()
		const each = 200
		var lines []string
		for i := range each {
			cancel := func(id int) string {
				return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id)
			}
			lines = append(lines, modernCall(2*i, "{}", ""), cancel(2*i))
			lines = append(lines, modern(2*i+1, "subscriptions/listen", "{}", `,"notifications":{"toolsListChanged":true}`), cancel(2*i+1))
		}
		h.send(lines...)
		if calls, cancelled := len(server.Received("tools/call")), len(server.Received("notifications/cancelled")); calls != cancelled {
			t.Errorf("%d of %d calls were canceled", cancelled, calls)
		}
		server.SetTools(true, "ask", "more")
		time.Sleep(time.Second)
		if got := h.received(); len(got) != 0 {
			t.Errorf("%d messages after the streams were canceled: %.300q", len(got), got)
		}
	})(t)
}

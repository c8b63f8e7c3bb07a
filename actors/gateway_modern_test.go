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

// modern is a request of a modern client; rest are more members of params, each with a leading comma.
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

// ready waits until the servers have synced; a modern client needs no handshake.
func (h *house) ready() {
	time.Sleep(time.Second)
	h.got()
}

func TestAModernClientOnALegacyServer(t *testing.T) {
	within(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"ask"}}
		h := open(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.ready()
		r := parseModern(t, h.one(modern(1, "server/discover", "{}", "")))
		if r.Result.ResultType != "complete" || r.Result.Meta["io.modelcontextprotocol/serverInfo"] == nil || r.Result.TTLMs == nil {
			t.Errorf("discover: %+v", r)
		}
		line := h.one(modern(2, "tools/list", "{}", ""))
		if r := parseModern(t, line); r.Result.ResultType != "complete" || r.Result.TTLMs == nil || len(toolNames(t, line)) != 1 {
			t.Errorf("tools/list: %s", line)
		}
		r = parseModern(t, h.one(modernCall(3, "{}", "")))
		if r.Result.ResultType != "complete" || len(r.Result.Content) != 1 {
			t.Errorf("tools/call: %+v", r)
		}
		sent := string(server.Received("tools/call")[0].Raw)
		if strings.Contains(sent, "io.modelcontextprotocol") || !strings.Contains(sent, `"name":"ask"`) {
			t.Errorf("the legacy server got %s", sent)
		}
		if r := parseModern(t, h.one(modern(4, "ping", "{}", ""))); r.Error == nil || r.Error.Code != -32601 {
			t.Errorf("ping: %+v", r)
		}
		if r := parseModern(t, h.one(modern(5, "resources/read", "{}", `,"uri":"file:///no"`))); r.Error == nil || r.Error.Code != -32602 {
			t.Errorf("unknown resource: %+v", r)
		}
	})(t)
}

// asks is a legacy server whose tool asks the questions, all at once, and answers with what it was told.
func asks(questions ...string) *actortest.Server {
	return &actortest.Server{Tools: []string{"ask"}, Handle: func(p *pipe.Peer, _ protocol.Frame, _ []byte) {
		for i, q := range questions {
			_ = p.Send([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":"b%d",%s}`, i, q)))
		}
	}}
}

const (
	elicit  = `"method":"elicitation/create","params":{"message":"name?","requestedSchema":{"type":"object","properties":{}}}`
	sampled = `"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}`
)

// The cell the specification calls failing: a modern client, a legacy server that asks.
func TestParkedAndAnswered(t *testing.T) {
	within(func(t *testing.T) {
		server := asks(elicit, sampled)
		h := open(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.ready()
		if got := h.send(modernCall(1, allCapabilities, "")); len(got) != 0 {
			t.Fatalf("answered at once: %v; questions within 30 ms go out together", got)
		}
		time.Sleep(30 * time.Millisecond)
		got := h.got()
		if len(got) != 1 {
			t.Fatalf("got %v, want one input_required", got)
		}
		r := parseModern(t, got[0])
		if r.Result.ResultType != "input_required" || len(r.Result.InputRequests) != 2 || r.Result.RequestState == "" {
			t.Fatalf("got %s", got[0])
		}
		time.Sleep(5 * time.Minute) // nobody waits; the call stays
		answers := fmt.Sprintf(`,"requestState":%q,"inputResponses":{"q1":{"action":"accept","content":{"n":1.0}},"extra":{}}`, r.Result.RequestState)
		got = h.send(modernCall(2, allCapabilities, answers))
		back := server.Answers()
		if len(back) != 1 || string(back[0].Raw) != `{"jsonrpc":"2.0","id":"b0","result":{"action":"accept","content":{"n":1.0}}}` {
			t.Fatalf("the server got %v", back)
		}
		// What is missing is asked again.
		if len(got) != 1 || !strings.Contains(got[0], `"id":2`) || !strings.Contains(got[0], `"inputRequests":{"q2":`) {
			t.Errorf("after one of two answers: %v, want the other asked again", got)
		}
	})(t)
}

func TestParkedRounds(t *testing.T) {
	within(func(t *testing.T) {
		server := asks(elicit)
		h := open(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.ready()
		h.send(modernCall(1, allCapabilities, ""))
		time.Sleep(30 * time.Millisecond)
		first := parseModern(t, h.got()[0])
		// An answer that is none is asked for again, with the same call waiting.
		bad := fmt.Sprintf(`,"requestState":%q,"inputResponses":{"q1":{"action":"perhaps"}}`, first.Result.RequestState)
		again := parseModern(t, h.one(modernCall(2, allCapabilities, bad)))
		if again.Result.ResultType != "input_required" || len(again.Result.InputRequests) != 1 {
			t.Fatalf("after a bad answer: %+v", again)
		}
		good := fmt.Sprintf(`,"requestState":%q,"inputResponses":{"q1":{"action":"accept","content":{}}}`, again.Result.RequestState)
		if got := h.send(modernCall(3, allCapabilities, good)); len(got) != 0 {
			t.Fatalf("after the answer: %v, want the call to run", got)
		}
		h.send(modernCall(4, allCapabilities, good)) // the same again, at once: one more who waits
		if n := len(server.Answers()); n != 1 {
			t.Fatalf("the server's question was answered %d times", n)
		}
		id := server.Received("tools/call")[0].IDBytes()
		_ = server.Last().Send(protocol.AppendResult(nil, id, []byte(`{"content":[{"type":"text","text":"hi"}]}`)))
		got := h.got()
		if len(got) != 2 || !strings.Contains(got[0]+got[1], `"id":3`) || !strings.Contains(got[0]+got[1], `"id":4`) {
			t.Fatalf("outcome: %v, want it for both", got)
		}
		late := parseModern(t, h.one(modernCall(5, allCapabilities, good))) // a lost answer
		if len(late.Result.Content) != 1 {
			t.Errorf("the same retry later: %+v", late)
		}
		if n := len(server.Received("tools/call")); n != 1 {
			t.Errorf("the server was called %d times, want once", n)
		}
	})(t)
}

func TestBadStates(t *testing.T) {
	within(func(t *testing.T) {
		server := asks(elicit)
		h := open(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.ready()
		h.send(modernCall(1, allCapabilities, ""))
		time.Sleep(30 * time.Millisecond)
		state := parseModern(t, h.got()[0]).Result.RequestState
		answer := `,"inputResponses":{"q1":{"action":"accept","content":{}}}`
		tests := []struct{ name, line string }{
			{"forged", modernCall(2, allCapabilities, `,"requestState":"AAAA"`+answer)},
			{"cut", modernCall(3, allCapabilities, fmt.Sprintf(`,"requestState":%q`, state[:len(state)-3])+answer)},
			{"not a string", modernCall(4, allCapabilities, `,"requestState":7`+answer)},
			{"other arguments", strings.Replace(modernCall(5, allCapabilities, fmt.Sprintf(`,"requestState":%q`, state)+answer), `{"a":1}`, `{"a":2}`, 1)},
			{"other method", modern(6, "prompts/get", allCapabilities, fmt.Sprintf(`,"name":"one_ask","arguments":{"a":1},"requestState":%q`, state)+answer)},
		}
		for _, test := range tests {
			if r := parseModern(t, h.one(test.line)); r.Error == nil || r.Error.Code != -32602 {
				t.Errorf("%s: %+v, want -32602", test.name, r)
			}
		}
		if n := len(server.Answers()); n != 0 {
			t.Errorf("the server got %d answers", n)
		}
		time.Sleep(10*time.Minute + time.Second) // limits.parkedCall
		h.got()
		if back := server.Answers(); len(back) != 1 || !strings.Contains(string(back[0].Raw), `"action":"cancel"`) {
			t.Errorf("after parkedCall the server got %v, want its question cancelled", back)
		}
		if n := len(server.Received("notifications/cancelled")); n != 1 {
			t.Errorf("%d cancellations, want 1", n)
		}
		if r := parseModern(t, h.one(modernCall(7, allCapabilities, fmt.Sprintf(`,"requestState":%q`, state)+answer))); r.Error == nil || r.Error.Code != -32602 {
			t.Errorf("expired: %+v, want -32602", r)
		}
	})(t)
}

func TestAModernClientThatCannotAnswer(t *testing.T) {
	within(func(t *testing.T) {
		server := asks(sampled)
		h := open(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.ready()
		r := parseModern(t, h.one(modernCall(1, `{"elicitation":{}}`, "")))
		if r.Error == nil || r.Error.Code != -32021 || string(r.Error.Data["requiredCapabilities"]) != `{"sampling":{}}` {
			t.Errorf("got %+v, want -32021 naming sampling", r)
		}
		if back := server.Answers(); len(back) != 0 {
			t.Errorf("the server's question was answered beside the cancellation: %v", back)
		}
		if n := len(server.Received("notifications/cancelled")); n != 1 {
			t.Errorf("%d cancellations, want 1", n)
		}
	})(t)
}

// A completion has no way to hold a question: the server's is refused, and the completion ends as the server wants. Neither
// can an error stand for one. MCP 2026-07-28, basic/patterns/mrtr, supported requests.
func TestACompletionThatAsks(t *testing.T) {
	tests := []struct{ name, frame, answer, want string }{
		{"a question", `{"jsonrpc":"2.0","id":"b",` + elicit + `}`, `"result":{"completion":{"values":["x"]}}`, `"values":["x"]`},
		{"an error that is one", "", `"error":{"code":-32042,"message":"log in","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://example.invalid/","message":"log in"}]}}`, `"code":-32603`},
	}
	for _, test := range tests {
		t.Run(test.name, within(func(t *testing.T) {
			server := &actortest.Server{Prompts: []string{"p"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
				if test.frame != "" {
					_ = p.Send([]byte(test.frame))
					return
				}
				_ = p.Send([]byte(`{"jsonrpc":"2.0","id":` + string(id) + `,` + test.answer + `}`))
			}}
			h := open(t, map[string]*actortest.Server{"one": server}, nil)
			defer h.close()
			h.ready()
			got := h.send(modern(1, "completion/complete", allCapabilities, `,"ref":{"type":"ref/prompt","name":"one_p"},"argument":{"name":"a","value":"x"}`))
			if test.frame != "" {
				time.Sleep(time.Second)
				if got = append(got, h.got()...); len(got) != 0 {
					t.Fatalf("the client got %q, want the completion to go on", got)
				}
				if back := server.Answers(); len(back) != 1 || back[0].Kind != protocol.KindError {
					t.Fatalf("the server's question: %v, want an error", back)
				}
				if n := len(server.Received("notifications/cancelled")); n != 0 {
					t.Fatalf("the completion was cancelled %d times", n)
				}
				_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","id":` + string(server.Received("completion/complete")[0].IDBytes()) + `,` + test.answer + `}`))
				got = h.got()
			}
			if len(got) != 1 || !strings.Contains(got[0], test.want) {
				t.Errorf("at the end %q, want %s", got, test.want)
			}
		}))
	}
}

// MCP 2026-07-28, subscriptions: the acknowledgment is first, every message is tagged with the request's id.
func TestListen(t *testing.T) {
	within(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"a"}, Resources: []string{"file:///a"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			_ = p.Send(protocol.AppendResult(nil, id, []byte("{}")))
		}}
		h := open(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.ready()
		filter := `,"notifications":{"toolsListChanged":true,"resourceSubscriptions":["resource://one/file:///a","resource://one/file:///no"]}`
		got := h.send(modern(9, "subscriptions/listen", "{}", filter))
		want := `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":9},"notifications":{"resourceSubscriptions":["resource://one/file:///a"],"toolsListChanged":true}}}`
		if len(got) != 1 || got[0] != want {
			t.Fatalf("got %v, want %s", got, want)
		}
		server.SetTools(true, "a", "b")
		time.Sleep(time.Second)
		if got := h.got(); len(got) != 1 || got[0] != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":9}}}` {
			t.Errorf("list_changed: %v", got)
		}
		_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}`))
		if got := h.got(); len(got) != 1 || !strings.Contains(got[0], `"uri":"resource://one/file:///a"`) || !strings.Contains(got[0], `subscriptionId":9`) {
			t.Errorf("updated: %v", got)
		}
		if got := h.send(modern(10, "subscriptions/listen", "{}", `,"notifications":{}`)); len(got) != 2 || !strings.Contains(got[1], `"id":10,"result"`) {
			t.Errorf("an empty wish: %v, want acknowledgment and end", got)
		}
	})(t)
}

// On stdin and stdout a cancellation means whatever request has its id, a call or a stream that listens, and whether it
// says its era (TypeScript v2 does) or not.
func TestCancelOverStdio(t *testing.T) {
	for name, meta := range map[string]string{"no era": "", "modern": `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`} {
		t.Run(name, within(func(t *testing.T) {
			server := &actortest.Server{Tools: []string{"ask"}, Handle: func(*pipe.Peer, protocol.Frame, []byte) {}}
			h := open(t, map[string]*actortest.Server{"one": server}, nil)
			defer h.close()
			h.ready()
			h.send(modernCall(1, "{}", ""))
			h.send(modern(2, "subscriptions/listen", "{}", `,"notifications":{"toolsListChanged":true}`))
			cancel := func(id int) string {
				return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d%s}}`, id, meta)
			}
			if got := h.send(cancel(1)); len(got) != 0 || len(server.Received("notifications/cancelled")) != 1 {
				t.Errorf("cancelled call: got %v, the server heard of it %d times, want once", got, len(server.Received("notifications/cancelled")))
			}
			if got := h.send(cancel(2)); len(got) != 0 {
				t.Errorf("cancelled stream: %v, want nothing more for it", got)
			}
			server.SetTools(true, "ask", "more")
			time.Sleep(time.Second)
			if got := h.got(); len(got) != 0 {
				t.Errorf("after the end of the stream: %v", got)
			}
		}))
	}
}

// A cancellation right behind its request does not overtake it on any way: not to the desk or the listener, not to the
// pool, not to the backend.
func TestCancelRightBehindItsRequest(t *testing.T) {
	within(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"ask"}, Handle: func(*pipe.Peer, protocol.Frame, []byte) {}}
		h := open(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.ready()
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
			t.Errorf("%d of %d calls cancelled", cancelled, calls)
		}
		server.SetTools(true, "ask", "more")
		time.Sleep(time.Second)
		if got := h.got(); len(got) != 0 {
			t.Errorf("%d streams have not ended: %.300q", len(got), got)
		}
	})(t)
}

package actors

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/pipe"
)

const allCapabilities = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{"listChanged":true}}`

// asking is a server whose tool asks the client before it answers.
func asking(question string) *actortest.Server {
	return &actortest.Server{Tools: []string{"ask"}, Handle: func(p *pipe.Peer, _ protocol.Frame, _ []byte) {
		_ = p.Send([]byte(question))
	}}
}

func call(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"one_ask","arguments":{}}}`, id)
}

// The question arrives byte for byte but for its id; the answer goes back under the server's own id, 0 included.
func TestAQuestionGoesToItsCaller(t *testing.T) {
	within(func(t *testing.T) {
		server := asking(`{"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{"message":"name?","requestedSchema":{"type":"object","x":1.0}}}`)
		h := open(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.can = allCapabilities
		h.initialize()
		got := h.send(call(1))
		if len(got) != 1 || got[0] != `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"name?","requestedSchema":{"type":"object","x":1.0}}}` {
			t.Fatalf("question: %v", got)
		}
		time.Sleep(2 * time.Minute) // a slow human: the call's clocks stand
		if got := h.got(); len(got) != 0 {
			t.Fatalf("while the human thinks: %v", got)
		}
		answer := `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"name":"Ada"}}}`
		h.send(`{"jsonrpc":"2.0","id":99,"result":{"action":"accept"}}`, answer, answer) // nobody's, ours, ours again
		back := server.Answers()
		if len(back) != 1 || string(back[0].Raw) != `{"jsonrpc":"2.0","id":0,"result":{"action":"accept","content":{"name":"Ada"}}}` {
			t.Fatalf("the server got %d answers: %v", len(back), back)
		}
		id := server.Received("tools/call")[0].IDBytes()
		_ = server.Last().Send(protocol.AppendResult(nil, id, []byte(`{"content":[]}`)))
		if got := h.got(); len(got) != 1 || got[0] != `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}` {
			t.Errorf("the call's answer: %v", got)
		}
	})(t)
}

// Clients of old versions that declare elicitation and sampling with tools are asked, although their version does not define these.
func TestDeclaredCapabilitiesCountInEveryVersion(t *testing.T) {
	questions := map[string]string{
		"elicitation":         `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?"}}`,
		"sampling with tools": `{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"messages":[],"tools":[]}}`,
	}
	for _, version := range protocol.LegacyVersions {
		for name, question := range questions {
			t.Run(version+" "+name, within(func(t *testing.T) {
				h := open(t, map[string]*actortest.Server{"one": asking(question)}, nil)
				defer h.close()
				h.can = allCapabilities
				h.initializeVersion(version)
				want := strings.Replace(question, `"q"`, "1", 1)
				if got := h.send(call(1)); len(got) != 1 || got[0] != want {
					t.Errorf("the client received %v, want %s", got, want)
				}
			}))
		}
	}
}

func TestQuestionsAreRefused(t *testing.T) {
	elicit := `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{%s"message":"?"}}`
	tests := []struct{ name, can, question, want string }{
		{"elicitation not declared", `{}`, fmt.Sprintf(elicit, ""), "has not declared elicitation"},
		{"url not declared", `{"elicitation":{}}`, fmt.Sprintf(elicit, `"mode":"url","url":"https://x.invalid","elicitationId":"e",`), "elicitation.url"},
		{"sampling not declared", `{}`, `{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"messages":[]}}`, "has not declared sampling"},
		{"tools in sampling not declared", `{"sampling":{}}`, `{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"messages":[],"tools":[]}}`, "sampling.tools"},
		{"roots not declared: the configured ones", `{}`, `{"jsonrpc":"2.0","id":"q","method":"roots/list"}`, `{"roots":[]}`},
		{"unknown question", `{}`, `{"jsonrpc":"2.0","id":"q","method":"quiz/create"}`, "-32601"},
	}
	for _, test := range tests {
		t.Run(test.name, within(func(t *testing.T) {
			server := asking(test.question)
			h := open(t, map[string]*actortest.Server{"one": server}, nil)
			defer h.close()
			h.can = test.can
			h.initialize()
			if got := h.send(call(1)); len(got) != 0 {
				t.Errorf("the client got %v", got)
			}
			back := server.Answers()
			if len(back) != 1 || !strings.Contains(string(back[0].Raw), test.want) {
				t.Errorf("the server got %v, want one answer with %q", back, test.want)
			}
		}))
	}
}

// A question while nobody is calling is nobody's.
func TestAQuestionOutOfTheBlue(t *testing.T) {
	within(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"a"}}
		h := open(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.can = allCapabilities
		h.initialize()
		_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{"messages":[]}}`))
		if got := h.got(); len(got) != 0 {
			t.Errorf("the client got %v", got)
		}
		if back := server.Answers(); len(back) != 1 || back[0].Kind != protocol.KindError {
			t.Errorf("the server got %v, want an error", back)
		}
	})(t)
}

// The first question makes a process's calls run one at a time, parked ones aside. Roots do not: servers ask for them when they
// have just met us, and a call that hangs would keep everybody else out from then on.
func TestLeasedFromTheFirstQuestion(t *testing.T) {
	for _, test := range []struct {
		question string
		sent     int // calls at the server: the parked one and those that run
	}{
		{`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?"}}`, 2},
		{`{"jsonrpc":"2.0","id":"q","method":"roots/list"}`, 3},
	} {
		within(func(t *testing.T) {
			server := asking(test.question)
			h := open(t, map[string]*actortest.Server{"one": server}, nil)
			defer h.close()
			h.can = allCapabilities
			h.initialize()
			h.send(call(1)) // parked at its question
			time.Sleep(30 * time.Millisecond)
			synctest.Wait()
			server.Handle = func(*pipe.Peer, protocol.Frame, []byte) {}
			h.send(call(2), call(3))
			if n := len(server.Received("tools/call")); n != test.sent {
				t.Errorf("%s: %d calls at the server, want %d", test.question, n, test.sent)
			}
		})(t)
	}
}

// The call is cancelled: the server's question is answered, the client's is not asked any more.
func TestCancelWhileParked(t *testing.T) {
	within(func(t *testing.T) {
		server := asking(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?"}}`)
		h := open(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.can = allCapabilities
		h.initialize()
		h.send(call(7))
		if got := h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`); len(got) != 1 || !strings.Contains(got[0], `"params":{"requestId":1,`) {
			t.Errorf("the client got %q, want its question withdrawn", got)
		}
		time.Sleep(time.Second) // the server had the time to do without
		synctest.Wait()
		if back := server.Answers(); len(back) != 1 || !strings.Contains(string(back[0].Raw), `"action":"cancel"`) {
			t.Errorf("the server's question: %v", back)
		}
		if n := len(server.Received("notifications/cancelled")); n != 1 {
			t.Errorf("the server was told %d times to cancel", n)
		}
		h.send(`{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}`)
		if back := server.Answers(); len(back) != 1 {
			t.Errorf("a late answer reached the server: %v", back)
		}
	})(t)
}

// limits.parkedCall: nobody answers.
func TestParkedCallExpires(t *testing.T) {
	within(func(t *testing.T) {
		server := asking(`{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"messages":[]}}`)
		h := open(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.can = allCapabilities
		h.initialize()
		h.send(call(7))
		time.Sleep(10*time.Minute - time.Nanosecond)
		if got := h.got(); len(got) != 0 {
			t.Fatalf("a nanosecond early: %v", got)
		}
		time.Sleep(time.Nanosecond)
		got := h.got()
		if len(got) != 2 || !strings.Contains(got[0], "notifications/cancelled") || !strings.Contains(got[1], `"TIMEOUT"`) {
			t.Errorf("got %v, want the question withdrawn and the call timed out", got)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if back := server.Answers(); len(back) != 1 || back[0].Kind != protocol.KindError {
			t.Errorf("the server's question: %v", back)
		}
	})(t)
}

// S0.7.1, S0.7.2, S0.7.3, S0.7.4, S4.5.2, S1.55, S1.56, S1.58: subscribe goes upstream once, updates come with the client's URI,
// unsubscribe ends it. S0.10.2: the number is in the status, from which /metrics is written.
func TestSubscriptions(t *testing.T) {
	within(func(t *testing.T) {
		server := &actortest.Server{Resources: []string{"file:///a"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			_ = p.Send(protocol.AppendResult(nil, id, []byte("{}")))
		}}
		h := open(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.initialize()
		subscribe := `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"resource://one/file:///a"}}`
		for range 2 {
			if got := h.one(subscribe); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
				t.Fatalf("subscribe: %s", got)
			}
		}
		if st, err := h.gateway.Status(t.Context()); err != nil || st.Servers[0].Subscribed != 1 || st.Servers[0].Subscribers != 1 {
			t.Errorf("status: %+v %v, want one subscription of one subscriber", st, err)
		}
		sent := server.Received("resources/subscribe")
		if len(sent) != 1 || !strings.Contains(string(sent[0].Raw), `"params":{"uri":"file:///a"}`) {
			t.Fatalf("upstream: %v, want one subscribe of the original URI", sent)
		}
		for _, uri := range []string{"resource://one/file:///b", "nobody://x"} { // whose server is named, and nobody's
			if got := h.one(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":%q}}`, uri)); !strings.Contains(got, `"RESOURCE_NOT_FOUND"`) {
				t.Errorf("unknown: %s", got)
			}
		}
		if n := len(server.Received("resources/subscribe")); n != 1 {
			t.Errorf("the server was asked for what is unknown: %d subscribes", n)
		}
		_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a","x":1.0}}`))
		if got := h.got(); len(got) != 1 || got[0] != `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"resource://one/file:///a","x":1.0}}` {
			t.Errorf("updated: %v", got)
		}
		time.Sleep(10 * time.Second)
		server.Last().Close(nil) // after the reconnect: subscribed again, and told that it may have changed
		time.Sleep(time.Second)
		if n := len(server.Received("resources/subscribe")); n != 2 {
			t.Errorf("%d subscribes upstream after a reconnect, want 2", n)
		}
		if got := h.got(); len(got) != 1 || !strings.Contains(got[0], "resources/updated") {
			t.Errorf("after the reconnect: %v, want one updated", got)
		}
		h.one(`{"jsonrpc":"2.0","id":3,"method":"resources/unsubscribe","params":{"uri":"resource://one/file:///a"}}`)
		time.Sleep(3 * time.Second)
		if n := len(server.Received("resources/unsubscribe")); n != 1 {
			t.Errorf("%d unsubscribes upstream, want 1", n)
		}
		_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}`))
		if got := h.got(); len(got) != 0 {
			t.Errorf("after unsubscribe: %v", got)
		}
	})(t)
}

// S0.9.3: the server's refusal reaches the client as it is, and nothing is left behind.
func TestSubscribeRefused(t *testing.T) {
	within(func(t *testing.T) {
		server := &actortest.Server{Resources: []string{"file:///a"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			_ = p.Send([]byte(`{"jsonrpc":"2.0","id":` + string(id) + `,"error":{"code":-32601,"message":"no","data":{"z":1.0}}}`))
		}}
		h := open(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.initialize()
		got := h.one(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"resource://one/file:///a"}}`)
		if got != `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no","data":{"z":1.0}}}` {
			t.Errorf("subscribe: %s", got)
		}
		if st, err := h.gateway.Status(t.Context()); err != nil || st.Servers[0].Subscribed+st.Servers[0].Subscribers+len(st.Subscriptions) != 0 {
			t.Errorf("after the refusal: %+v, %v", st, err)
		}
		_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}`))
		if got := h.got(); len(got) != 0 {
			t.Errorf("an update after the refusal: %v", got)
		}
	})(t)
}

// Log lines: of the only call to its caller, others to everybody; below the session's level to nobody.
func TestLogLines(t *testing.T) {
	within(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"ask"}, Logging: true, Handle: func(*pipe.Peer, protocol.Frame, []byte) {}}
		h := open(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.initialize()
		h.one(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"warning"}}`)
		if set := server.Received("logging/setLevel"); len(set) != 1 || !strings.Contains(string(set[0].Raw), `"level":"warning"`) {
			t.Errorf("upstream: %v, want the level once", set)
		}
		line := func(level string) {
			_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"` + level + `","data":1}}`))
		}
		line("info")
		line("error")
		if got := h.got(); len(got) != 1 || !strings.Contains(got[0], `"error"`) {
			t.Errorf("out of a call: %v, want the error only", got)
		}
		h.send(call(2))
		line("debug")
		line("critical")
		if got := h.got(); len(got) != 1 || !strings.Contains(got[0], `"critical"`) {
			t.Errorf("in a call: %v, want the critical only", got)
		}
	})(t)
}

// A process says for no line which call it belongs to. While one call waits for its client, the lines are those of the call
// that runs; a modern client gets no others.
func TestLogLinesBesideAParkedCall(t *testing.T) {
	within(func(t *testing.T) {
		server := asking(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?"}}`)
		h := open(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.ready()
		const level = `"io.modelcontextprotocol/logLevel":"info",`
		call := func(id int) string {
			return strings.Replace(modernCall(id, allCapabilities, ""), `"_meta":{`, `"_meta":{`+level, 1)
		}
		h.send(call(1))
		time.Sleep(time.Second)
		if got := h.got(); len(got) != 1 || !strings.Contains(got[0], "input_required") {
			t.Fatalf("the first call: %q", got)
		}
		server.Handle = func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			_ = p.Send([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"of the second"}}`))
			_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[]}`)))
		}
		if got := h.send(call(2)); len(got) != 2 || !strings.Contains(got[0], "of the second") {
			t.Errorf("the second call: %q, want its line and its answer", got)
		}
	})(t)
}

// S2.6.2, S0.9.2: a server's error reaches the caller byte for byte; of a read it is logged.
func TestServerErrorsPropagate(t *testing.T) {
	within(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"ask"}, Resources: []string{"file:///a"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			_ = p.Send([]byte(`{"jsonrpc":"2.0","id":` + string(id) + `,"error":{"message":"no <&>","code":-31999,"data":[1.0,{"b":1,"a":2}]}}`))
		}}
		var log bytes.Buffer
		h := openOn(t, map[string]func(upstream.Sink) upstream.Link{"one": server.Open}, "stdio", Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, nil)
		h.initialize()
		want := `{"jsonrpc":"2.0","id":1,"error":{"message":"no <&>","code":-31999,"data":[1.0,{"b":1,"a":2}]}}`
		for _, line := range []string{call(1), `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"resource://one/file:///a"}}`} {
			if got := h.one(line); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		h.close()
		if want := `msg="server refused to read a resource" server=one uri=file:///a code=-31999 message="no <&>"`; !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, log.String())
		}
	})(t)
}

// S0.7.4, S1.58: an update reaches every client that subscribed, of either era, and no other; the server is asked once.
func TestUpdatesReachSubscribersOnly(t *testing.T) {
	within(func(t *testing.T) {
		server := &actortest.Server{Resources: []string{"file:///a"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			_ = p.Send(protocol.AppendResult(nil, id, []byte("{}")))
		}}
		h := open(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.initialize()
		const wanted = `,"notifications":{"resourceSubscriptions":["resource://one/file:///a"]}`
		h.send(modern(11, "subscriptions/listen", "{}", wanted), modern(12, "subscriptions/listen", "{}", wanted),
			modern(13, "subscriptions/listen", "{}", `,"notifications":{"resourcesListChanged":true}`))
		time.Sleep(time.Second)
		h.got()
		told := func(when string, want ...string) {
			t.Helper()
			_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}`))
			time.Sleep(time.Second)
			got := h.got()
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: told %q, want %q", when, got, want)
			}
		}
		const head = `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{`
		tagged := func(id int) string {
			return fmt.Sprintf(head+`"_meta":{"io.modelcontextprotocol/subscriptionId":%d},"uri":"resource://one/file:///a"}}`, id)
		}
		told("two listen", tagged(11), tagged(12))
		h.one(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"resource://one/file:///a"}}`)
		told("and the session", tagged(11), tagged(12), head+`"uri":"resource://one/file:///a"}}`)
		if n := len(server.Received("resources/subscribe")); n != 1 {
			t.Errorf("%d subscribes upstream, want 1", n)
		}
	})(t)
}

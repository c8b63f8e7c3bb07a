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

// serverSending returns a server that sends message when its tool is called, and does not answer the call.
func serverSending(message string) *actortest.Server {
	return &actortest.Server{Tools: []string{"ask"}, Handle: func(p *pipe.Peer, _ protocol.Frame, _ []byte) {
		_ = p.Send([]byte(message))
	}}
}

func call(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"one_ask","arguments":{}}}`, id)
}

// A server request reaches the client byte for byte except for its ID. The client's answer reaches the server under the
// server's own ID, even if that is 0.
func TestServerRequestReachesCaller(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := serverSending(`{"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{"message":"name?","requestedSchema":{"type":"object","x":1.0}}}`)
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.clientCapabilities = allCapabilities
		h.initialize()
		got := h.send(call(1))
		if len(got) != 1 || got[0] != `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"name?","requestedSchema":{"type":"object","x":1.0}}}` {
			t.Fatalf("the client received %v", got)
		}
		time.Sleep(2 * time.Minute) // the user is slow; the call's deadline is suspended
		if got := h.received(); len(got) != 0 {
			t.Fatalf("while the user thinks, the client received %v", got)
		}
		answer := `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"name":"Ada"}}}`
		h.send(`{"jsonrpc":"2.0","id":99,"result":{"action":"accept"}}`, answer, answer) // an unknown ID, the right one, the right one again
		back := server.Answers()
		if len(back) != 1 || string(back[0].Raw) != `{"jsonrpc":"2.0","id":0,"result":{"action":"accept","content":{"name":"Ada"}}}` {
			t.Fatalf("the server got %d answers: %v", len(back), back)
		}
		id := server.Received("tools/call")[0].IDBytes()
		_ = server.Last().Send(protocol.AppendResult(nil, id, []byte(`{"content":[]}`)))
		if got := h.received(); len(got) != 1 || got[0] != `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}` {
			t.Errorf("the call's response: %v", got)
		}
	})(t)
}

// Clients that declare elicitation and sampling with tools get such requests in every version, although older versions do
// not define them.
func TestDeclaredCapabilitiesCountInEveryVersion(t *testing.T) {
	questions := map[string]string{
		"elicitation":         `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?"}}`,
		"sampling with tools": `{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"messages":[],"tools":[]}}`,
	}
	for _, version := range protocol.LegacyVersions {
		for name, question := range questions {
			t.Run(version+" "+name, inBubble(func(t *testing.T) {
				h := startStdio(t, map[string]*actortest.Server{"one": serverSending(question)}, nil)
				defer h.close()
				h.clientCapabilities = allCapabilities
				h.initializeVersion(version)
				want := strings.Replace(question, `"q"`, "1", 1)
				if got := h.send(call(1)); len(got) != 1 || got[0] != want {
					t.Errorf("the client received %v, want %s", got, want)
				}
			}))
		}
	}
}

func TestServerRequestsRefused(t *testing.T) {
	elicit := `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{%s"message":"?"}}`
	tests := []struct{ name, can, question, want string }{
		{"elicitation not declared", `{}`, fmt.Sprintf(elicit, ""), "has not declared elicitation"},
		{"url not declared", `{"elicitation":{}}`, fmt.Sprintf(elicit, `"mode":"url","url":"https://x.invalid","elicitationId":"e",`), "elicitation.url"},
		{"sampling not declared", `{}`, `{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"messages":[]}}`, "has not declared sampling"},
		{"tools in sampling not declared", `{"sampling":{}}`, `{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"messages":[],"tools":[]}}`, "sampling.tools"},
		{"roots not declared, configured ones sent", `{}`, `{"jsonrpc":"2.0","id":"q","method":"roots/list"}`, `{"roots":[]}`},
		{"unknown method", `{}`, `{"jsonrpc":"2.0","id":"q","method":"quiz/create"}`, "-32601"},
	}
	for _, test := range tests {
		t.Run(test.name, inBubble(func(t *testing.T) {
			server := serverSending(test.question)
			h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
			defer h.close()
			h.clientCapabilities = test.can
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

// A server request is refused while no client has a running call.
func TestServerRequestWithoutCall(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"a"}}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.clientCapabilities = allCapabilities
		h.initialize()
		_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{"messages":[]}}`))
		if got := h.received(); len(got) != 0 {
			t.Errorf("the client got %v", got)
		}
		if back := server.Answers(); len(back) != 1 || back[0].Kind != protocol.KindError {
			t.Errorf("the server got %v, want an error", back)
		}
	})(t)
}

// After the first elicitation or sampling request, a process gets one call at a time, not counting parked ones. A roots/list
// request does not have this effect: many servers send one right after the handshake, and a call that hangs would then block
// all others.
func TestOneCallAtATimeAfterServerRequest(t *testing.T) {
	for _, test := range []struct {
		question string
		sent     int // calls that reach the server: the parked one and the running ones
	}{
		{`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?"}}`, 2},
		{`{"jsonrpc":"2.0","id":"q","method":"roots/list"}`, 3},
	} {
		inBubble(func(t *testing.T) {
			server := serverSending(test.question)
			h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
			defer h.close()
			h.clientCapabilities = allCapabilities
			h.initialize()
			h.send(call(1)) // parked, awaiting the client's answer
			time.Sleep(30 * time.Millisecond)
			synctest.Wait()
			server.Handle = func(*pipe.Peer, protocol.Frame, []byte) {}
			h.send(call(2), call(3))
			if n := len(server.Received("tools/call")); n != test.sent {
				t.Errorf("%s: %d calls reached the server, want %d", test.question, n, test.sent)
			}
		})(t)
	}
}

// When a parked call is canceled, the server's request is answered with cancel and the client's copy is withdrawn.
func TestCancelWhileParked(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := serverSending(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?"}}`)
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.clientCapabilities = allCapabilities
		h.initialize()
		h.send(call(7))
		if got := h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`); len(got) != 1 || !strings.Contains(got[0], `"params":{"requestId":1,`) {
			t.Errorf("the client got %q, want the server request withdrawn", got)
		}
		time.Sleep(time.Second) // the server has had time to end the call by itself
		synctest.Wait()
		if back := server.Answers(); len(back) != 1 || !strings.Contains(string(back[0].Raw), `"action":"cancel"`) {
			t.Errorf("the answer to the server's request: %v", back)
		}
		if n := len(server.Received("notifications/cancelled")); n != 1 {
			t.Errorf("the server got %d cancellations", n)
		}
		h.send(`{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}`)
		if back := server.Answers(); len(back) != 1 {
			t.Errorf("the late answer reached the server: %v", back)
		}
	})(t)
}

// A parked call ends after limits.parkedCall if the client does not answer.
func TestParkedCallExpires(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := serverSending(`{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"messages":[]}}`)
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.clientCapabilities = allCapabilities
		h.initialize()
		h.send(call(7))
		time.Sleep(10*time.Minute - time.Nanosecond)
		if got := h.received(); len(got) != 0 {
			t.Fatalf("a nanosecond before the limit: %v", got)
		}
		time.Sleep(time.Nanosecond)
		got := h.received()
		if len(got) != 2 || !strings.Contains(got[0], "notifications/cancelled") || !strings.Contains(got[1], `"TIMEOUT"`) {
			t.Errorf("got %v, want the server request withdrawn and a timeout", got)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if back := server.Answers(); len(back) != 1 || back[0].Kind != protocol.KindError {
			t.Errorf("the answer to the server's request: %v", back)
		}
	})(t)
}

// S0.7.1, S0.7.2, S0.7.3, S0.7.4, S4.5.2, S1.55, S1.56, S1.58: the server gets one subscribe request for several clients,
// updates carry the client's URI, and unsubscribing ends the subscription. S0.10.2: the status, from which /metrics is
// generated, has the number of subscriptions.
func TestSubscriptions(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Resources: []string{"file:///a"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			_ = p.Send(protocol.AppendResult(nil, id, []byte("{}")))
		}}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.initialize()
		subscribe := `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"resource://one/file:///a"}}`
		for range 2 {
			if got := h.roundTrip(subscribe); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
				t.Fatalf("subscribe: %s", got)
			}
		}
		if st, err := h.gateway.Status(t.Context()); err != nil || st.Servers[0].Subscribed != 1 || st.Servers[0].Subscribers != 1 {
			t.Errorf("status: %+v %v, want one subscription of one subscriber", st, err)
		}
		sent := server.Received("resources/subscribe")
		if len(sent) != 1 || !strings.Contains(string(sent[0].Raw), `"params":{"uri":"file:///a"}`) {
			t.Fatalf("the server got %v, want one subscribe of the original URI", sent)
		}
		for _, uri := range []string{"resource://one/file:///b", "unknown://x"} { // an unknown resource of a known server, and one without a server
			if got := h.roundTrip(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":%q}}`, uri)); !strings.Contains(got, `"RESOURCE_NOT_FOUND"`) {
				t.Errorf("unknown resource: %s", got)
			}
		}
		if n := len(server.Received("resources/subscribe")); n != 1 {
			t.Errorf("the server got %d subscribes, want none for an unknown resource", n)
		}
		_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a","x":1.0}}`))
		if got := h.received(); len(got) != 1 || got[0] != `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"resource://one/file:///a","x":1.0}}` {
			t.Errorf("update: %v", got)
		}
		time.Sleep(10 * time.Second)
		server.Last().Close(nil) // after the reconnect: subscribed again, and the client gets an update, as one may have been missed
		time.Sleep(time.Second)
		if n := len(server.Received("resources/subscribe")); n != 2 {
			t.Errorf("the server got %d subscribes including the reconnect, want 2", n)
		}
		if got := h.received(); len(got) != 1 || !strings.Contains(got[0], "resources/updated") {
			t.Errorf("after the reconnect: %v, want one update", got)
		}
		h.roundTrip(`{"jsonrpc":"2.0","id":3,"method":"resources/unsubscribe","params":{"uri":"resource://one/file:///a"}}`)
		time.Sleep(3 * time.Second)
		if n := len(server.Received("resources/unsubscribe")); n != 1 {
			t.Errorf("the server got %d unsubscribes, want 1", n)
		}
		_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}`))
		if got := h.received(); len(got) != 0 {
			t.Errorf("after unsubscribe: %v", got)
		}
	})(t)
}

// S0.9.3: when the server refuses a subscription, the client gets its error unchanged and no subscription remains.
func TestSubscribeRefused(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Resources: []string{"file:///a"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			_ = p.Send([]byte(`{"jsonrpc":"2.0","id":` + string(id) + `,"error":{"code":-32601,"message":"no","data":{"z":1.0}}}`))
		}}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.initialize()
		got := h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"resource://one/file:///a"}}`)
		if got != `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no","data":{"z":1.0}}}` {
			t.Errorf("subscribe: %s", got)
		}
		if st, err := h.gateway.Status(t.Context()); err != nil || st.Servers[0].Subscribed+st.Servers[0].Subscribers+len(st.Subscriptions) != 0 {
			t.Errorf("after the refusal: %+v, %v", st, err)
		}
		_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}`))
		if got := h.received(); len(got) != 0 {
			t.Errorf("an update after the refusal: %v", got)
		}
	})(t)
}

// Log messages go to the caller of the only running call, or to all clients if no call runs. Messages below a session's
// level are dropped.
func TestLogMessages(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"ask"}, Logging: true, Handle: func(*pipe.Peer, protocol.Frame, []byte) {}}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.initialize()
		h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"warning"}}`)
		if set := server.Received("logging/setLevel"); len(set) != 1 || !strings.Contains(string(set[0].Raw), `"level":"warning"`) {
			t.Errorf("the server got %v, want the level once", set)
		}
		line := func(level string) {
			_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"` + level + `","data":1}}`))
		}
		line("info")
		line("error")
		if got := h.received(); len(got) != 1 || !strings.Contains(got[0], `"error"`) {
			t.Errorf("outside of a call: %v, want the error only", got)
		}
		h.send(call(2))
		line("debug")
		line("critical")
		if got := h.received(); len(got) != 1 || !strings.Contains(got[0], `"critical"`) {
			t.Errorf("during a call: %v, want the critical message only", got)
		}
	})(t)
}

// A process does not say which call a log message belongs to. While one call is parked, messages go to the running call. A
// modern client gets no other messages.
func TestLogMessagesWithParkedCall(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := serverSending(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?"}}`)
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.waitReady()
		const level = `"io.modelcontextprotocol/logLevel":"info",`
		call := func(id int) string {
			return strings.Replace(modernCall(id, allCapabilities, ""), `"_meta":{`, `"_meta":{`+level, 1)
		}
		h.send(call(1))
		time.Sleep(time.Second)
		if got := h.received(); len(got) != 1 || !strings.Contains(got[0], "input_required") {
			t.Fatalf("the first call: %q", got)
		}
		server.Handle = func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			_ = p.Send([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"from the second call"}}`))
			_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[]}`)))
		}
		if got := h.send(call(2)); len(got) != 2 || !strings.Contains(got[0], "from the second call") {
			t.Errorf("the second call: %q, want its log message and its response", got)
		}
	})(t)
}

// S2.6.2, S0.9.2: a server's error reaches the caller byte for byte. For a read it is also logged.
func TestServerErrorsPropagate(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"ask"}, Resources: []string{"file:///a"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			_ = p.Send([]byte(`{"jsonrpc":"2.0","id":` + string(id) + `,"error":{"message":"no <&>","code":-31999,"data":[1.0,{"b":1,"a":2}]}}`))
		}}
		var log bytes.Buffer
		h := startStdioWith(t, map[string]func(upstream.Sink) upstream.Link{"one": server.Open}, "stdio", Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, nil)
		h.initialize()
		want := `{"jsonrpc":"2.0","id":1,"error":{"message":"no <&>","code":-31999,"data":[1.0,{"b":1,"a":2}]}}`
		for _, line := range []string{call(1), `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"resource://one/file:///a"}}`} {
			if got := h.roundTrip(line); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		h.close()
		if want := `msg="server refused to read a resource" server=one uri=file:///a code=-31999 message="no <&>"`; !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, log.String())
		}
	})(t)
}

// S0.7.4, S1.58: an update reaches every client that subscribed, in both eras, and no other client. The server gets one
// subscribe.
func TestUpdatesReachSubscribersOnly(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Resources: []string{"file:///a"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			_ = p.Send(protocol.AppendResult(nil, id, []byte("{}")))
		}}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.initialize()
		const wanted = `,"notifications":{"resourceSubscriptions":["resource://one/file:///a"]}`
		h.send(modern(11, "subscriptions/listen", "{}", wanted), modern(12, "subscriptions/listen", "{}", wanted),
			modern(13, "subscriptions/listen", "{}", `,"notifications":{"resourcesListChanged":true}`))
		time.Sleep(time.Second)
		h.received()
		expectUpdates := func(when string, want ...string) {
			t.Helper()
			_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}`))
			time.Sleep(time.Second)
			got := h.received()
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: updates %q, want %q", when, got, want)
			}
		}
		const head = `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{`
		tagged := func(id int) string {
			return fmt.Sprintf(head+`"_meta":{"io.modelcontextprotocol/subscriptionId":%d},"uri":"resource://one/file:///a"}}`, id)
		}
		expectUpdates("two streams", tagged(11), tagged(12))
		h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"resource://one/file:///a"}}`)
		expectUpdates("two streams and the session", tagged(11), tagged(12), head+`"uri":"resource://one/file:///a"}}`)
		if n := len(server.Received("resources/subscribe")); n != 1 {
			t.Errorf("the server got %d subscribes, want 1", n)
		}
	})(t)
}

package actors

import (
	"bytes"
	"fmt"
	"log/slog"
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

// serverSending returns a server that sends the message when its tool is called, and does not answer the call.
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

// After its first elicitation or sampling request, a process gets one call at a time, not counting parked ones. A
// roots/list request does not have this effect, because many servers send one right after the handshake, and a single
// hanging call would then block all others.
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

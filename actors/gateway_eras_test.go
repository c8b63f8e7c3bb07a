package actors

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/upstream"
)

// openModern is a gateway over one modern server, "one", on stdio or behind HTTP.
func openModern(t *testing.T, server *actortest.Modern, o Options) *house {
	t.Helper()
	kind := "stdio"
	if server.HTTP {
		kind = "http"
	}
	return openOn(t, map[string]func(upstream.Sink) upstream.Link{"one": server.Open}, kind, o, func(c *config.Config) {
		if server.HTTP {
			c.Servers[0].Isolation, c.Servers[0].Command, c.Servers[0].URLs = "class", "", []string{"http://fake.test/mcp"}
		}
	})
}

// eachTransport runs f with a server on stdio and one behind HTTP.
func eachTransport(t *testing.T, f func(t *testing.T, http bool)) {
	for _, http := range []bool{false, true} {
		t.Run(map[bool]string{false: "stdio", true: "http"}[http], within(func(t *testing.T) { f(t, http) }))
	}
}

// inTwoRounds is a modern server that asks twice before it answers.
func inTwoRounds(http bool) *actortest.Modern {
	return &actortest.Modern{HTTP: http, Tools: []string{"ask"}, ListChanged: true, Subscribable: []string{"file:///a"}, Handle: func(g actortest.Message) {
		switch state, _ := rawjson.Unquote(g.Params.RequestState.Of(g.Frame.Raw)); state {
		case "":
			g.Notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":1}`, g.ID()))
			g.Result(`{"resultType":"input_required","inputRequests":{"a":{` + elicit + `},"b":{` + sampled + `}},"requestState":"first"}`)
		case "first":
			g.Result(`{"resultType":"input_required","inputRequests":{"c":{` + elicit + `}},"requestState":"second"}`)
		default:
			g.Result(`{"resultType":"complete","content":[{"type":"text","text":"` + state + `"}]}`)
		}
	}}
}

// Legacy client, modern server.
func TestALegacyClientOnAModernServer(t *testing.T) {
	eachTransport(t, func(t *testing.T, http bool) {
		server := inTwoRounds(http)
		h := openModern(t, server, Options{})
		h.can = `{"elicitation":{},"sampling":{}}`
		defer h.close()
		h.initialize()
		got := h.send(`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"one_ask","arguments":{},"_meta":{"progressToken":"t"}}}`)
		if len(got) != 3 || !strings.Contains(got[0], `"progressToken":"t"`) || !strings.Contains(got[1], "elicitation/create") || !strings.Contains(got[2], "sampling/createMessage") {
			t.Fatalf("client got %q, want progress and two questions", got)
		}
		if got := h.send(`{"jsonrpc":"2.0","id":2,"result":{"role":"assistant","content":{"type":"text","text":"x"},"model":"m"}}`); len(got) != 0 {
			t.Fatalf("after one of two answers: %q", got)
		}
		got = h.send(`{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{}}}`)
		if len(got) != 1 || !strings.Contains(got[0], `"id":3,"method":"elicitation/create"`) {
			t.Fatalf("after both answers: %q, want the next question", got)
		}
		got = h.send(`{"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"no"}}`)
		if want := `{"jsonrpc":"2.0","id":"c","result":{"content":[{"type":"text","text":"second"}]}}`; !slices.Equal(got, []string{want}) {
			t.Errorf("at the end %q, want %s", got, want)
		}
		calls := server.Received("tools/call")
		if last := string(calls[2].Frame.Raw); !strings.Contains(last, `"inputResponses":{"c":{"action":"cancel"}}`) {
			t.Errorf("last request %s", last)
		}
	})
}

// A client cancels its call while it is asked: the question is withdrawn by the id the client knows it by, and its late answer
// is nobody's. A modern server cannot withdraw it, as it has answered already.
func TestACancelWithdrawsTheQuestion(t *testing.T) {
	eachTransport(t, func(t *testing.T, http bool) {
		server := inTwoRounds(http)
		h := openModern(t, server, Options{})
		h.can = `{"elicitation":{},"sampling":{}}`
		defer h.close()
		h.initialize()
		h.send(`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"one_ask","arguments":{}}}`)
		got := h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}}`)
		if len(got) != 2 || !strings.Contains(got[0], `"notifications/cancelled","params":{"requestId":1,`) || !strings.Contains(got[1], `"notifications/cancelled","params":{"requestId":2,`) {
			t.Errorf("the client got %q, want both questions withdrawn", got)
		}
		if got := h.send(`{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{}}}`); len(got) != 0 || len(server.Received("tools/call")) != 1 {
			t.Errorf("after a late answer: client got %q, server %d requests", got, len(server.Received("tools/call")))
		}
	})
}

// What a client declares is passed on to a modern server, also when the negotiated version has no such question.
func TestDeclaredCapabilitiesReachAModernServer(t *testing.T) {
	within(func(t *testing.T) {
		server := &actortest.Modern{Tools: []string{"ask"}}
		h := openModern(t, server, Options{})
		defer h.close()
		h.ready()
		h.one(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{"elicitation":{},"sampling":{}},"clientInfo":{"name":"t","version":"1"}}}`)
		h.one(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one_ask","arguments":{}}}`)
		if sent := string(server.Received("tools/call")[0].Frame.Raw); !strings.Contains(sent, `clientCapabilities":{"elicitation":{"form":{}},"sampling":{}}`) {
			t.Errorf("the server got %s, want the declared elicitation and sampling", sent)
		}
	})(t)
}

// Modern client, modern server. Nothing of ours waits while the client thinks.
func TestAModernClientOnAModernServer(t *testing.T) {
	eachTransport(t, func(t *testing.T, http bool) {
		server := inTwoRounds(http)
		h := openModern(t, server, Options{})
		defer h.close()
		h.ready()
		r := parseModern(t, h.one(modernCall(1, allCapabilities, "")))
		for round, state := range []string{"first", "second"} {
			if r.Result.ResultType != "input_required" || r.Result.RequestState == "" || r.Result.RequestState == state {
				t.Fatalf("round %d: %+v, want questions and a sealed state", round, r)
			}
			answers := `,"inputResponses":{"a":{"action":"accept","content":{}},"b":{"role":"assistant","content":{"type":"text","text":"x"},"model":"m"},"c":{"action":"accept","content":{}}}`
			r = parseModern(t, h.one(modernCall(2+round, allCapabilities, fmt.Sprintf(`,"requestState":%q`, r.Result.RequestState)+answers)))
		}
		if r.Result.ResultType != "complete" || len(r.Result.Content) != 1 || !strings.Contains(string(r.Result.Content[0]), "second") {
			t.Errorf("at the end %+v", r)
		}
		if sent := string(server.Received("tools/call")[1].Frame.Raw); !strings.Contains(sent, `"requestState":"first"`) {
			t.Errorf("the server got %s, want its own state back", sent)
		}
	})
}

// A legacy client subscribes; the modern server is listened to.
func TestALegacyClientSubscribesToAModernServer(t *testing.T) {
	eachTransport(t, func(t *testing.T, http bool) {
		server := inTwoRounds(http)
		h := openModern(t, server, Options{})
		defer h.close()
		h.initialize()
		server.SetTools("ask", "more")
		time.Sleep(time.Second)
		if got := h.got(); len(got) != 1 || !strings.Contains(got[0], "tools/list_changed") {
			t.Fatalf("after a change client got %q", got)
		}
		if got := h.one(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"resource://one/file:///a"}}`); !strings.Contains(got, "error") {
			t.Fatalf("subscribe to what is not listed: %s", got)
		}
	})
}

// What a modern server says of a resource comes to a legacy client without the mark of our stream, which its version does not
// know, and to a modern client with the mark of its own; whatever else the server says in _meta stays.
func TestTheMarkOfAStreamStaysOnIt(t *testing.T) {
	eachTransport(t, func(t *testing.T, http bool) {
		server := &actortest.Modern{HTTP: http, ListChanged: true, Resources: []string{"file:///a"}, Subscribable: []string{"file:///a"}}
		h := openModern(t, server, Options{})
		defer h.close()
		h.initialize()
		h.send(modern(11, "subscriptions/listen", "{}", `,"notifications":{"resourceSubscriptions":["resource://one/file:///a"]}`))
		if got := h.send(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"resource://one/file:///a"}}`); len(got) != 1 || strings.Contains(got[0], "error") {
			t.Fatalf("subscribe: %q", got)
		}
		time.Sleep(time.Second)
		h.got()
		const head = `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{`
		server.Notify("notifications/resources/updated", `,"uri":"file:///a"`)
		got := h.got()
		slices.Sort(got)
		want := []string{head + `"_meta":{"io.modelcontextprotocol/subscriptionId":11},"uri":"resource://one/file:///a"}}`, head + `"uri":"resource://one/file:///a"}}`}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		stream := server.Received("subscriptions/listen")
		last := stream[len(stream)-1]
		last.Notify("notifications/resources/updated", fmt.Sprintf(`{"uri":"file:///a","_meta":{"x":1.0,"io.modelcontextprotocol/subscriptionId":%s}}`, last.ID()))
		got = h.got()
		slices.Sort(got)
		want = []string{head + `"uri":"resource://one/file:///a","_meta":{"io.modelcontextprotocol/subscriptionId":11,"x":1.0}}}`, head + `"uri":"resource://one/file:///a","_meta":{"x":1.0}}}`}
		if !slices.Equal(got, want) {
			t.Errorf("with more in _meta: got %q, want %q", got, want)
		}
	})
}

// The era found is remembered: after a restart nobody is asked again.
func TestErasOutliveTheGateway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	start := func() []string {
		server := &actortest.Modern{Tools: []string{"a"}}
		var methods []string
		within(func(t *testing.T) {
			h := openOn(t, map[string]func(upstream.Sink) upstream.Link{"one": server.Open}, "stdio", Options{State: path}, nil)
			defer h.close()
			h.initialize()
			for _, m := range []string{"server/discover", "initialize"} {
				for range server.Received(m) {
					methods = append(methods, m)
				}
			}
			time.Sleep(time.Minute) // the store writes
		})(t)
		return methods
	}
	if got := start(); !slices.Equal(got, []string{"server/discover", "initialize"}) {
		t.Fatalf("the first time the server got %v", got)
	}
	if got := start(); !slices.Equal(got, []string{"server/discover"}) {
		t.Errorf("the second time the server got %v, want no question", got)
	}
}

// A modern server's URL is given to an older one, which refuses every request in its own manner: it is asked what it speaks, and
// from then on calls come through.
func TestAServerReplacedByAnOlderOne(t *testing.T) {
	within(func(t *testing.T) {
		server := &actortest.Modern{HTTP: true, Tools: []string{"add"}}
		h := openModern(t, server, Options{})
		defer h.close()
		h.initialize()
		if got := h.one(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one_add","arguments":{}}}`); !strings.Contains(got, "modern") {
			t.Fatalf("the first call got %s", got)
		}
		refused := func(g actortest.Message) bool { // as servers made with the Python SDK 1 do
			if !strings.Contains(string(g.Frame.Raw), "io.modelcontextprotocol/protocolVersion") {
				return false
			}
			var f protocol.Frame
			if err := f.Parse([]byte(`{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request: Missing session ID"}}`)); err != nil {
				t.Error(err)
			}
			_ = g.Peer.Tell(upstream.Received{Ticket: g.Out.Ticket, Frame: f, Last: true, Status: 400})
			return true
		}
		server.Discover = refused
		server.Handle = func(g actortest.Message) {
			if !refused(g) {
				g.Result(`{"content":[{"type":"text","text":"legacy"}]}`)
			}
		}
		server.HandleOther = func(g actortest.Message) bool {
			if g.Frame.M != protocol.MethodInitialize {
				return false
			}
			g.Result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}`)
			return true
		}
		if got := h.one(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_add","arguments":{}}}`); !strings.Contains(got, "Missing session ID") {
			t.Errorf("the call that meets it got %s", got)
		}
		time.Sleep(10 * time.Second)
		h.got()
		h.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"one_add","arguments":{}}}`)
		time.Sleep(10 * time.Second) // for a connection of the client's own: a legacy server's are by class
		if got := h.got(); len(got) != 1 || !strings.Contains(got[0], "legacy") {
			t.Errorf("the next call got %s", got)
		}
	})(t)
}

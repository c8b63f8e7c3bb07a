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

// openModern starts a gateway with one modern server, "one", on stdio or HTTP.
func openModern(t *testing.T, server *actortest.Modern, o Options) *stdioHarness {
	t.Helper()
	kind := "stdio"
	if server.HTTP {
		kind = "http"
	}
	return startStdioWith(t, map[string]func(upstream.Sink) upstream.Link{"one": server.Open}, kind, o, func(c *config.Config) {
		if server.HTTP {
			c.Servers[0].Isolation, c.Servers[0].Command, c.Servers[0].URLs = "class", "", []string{"http://fake.test/mcp"}
		}
	})
}

// eachTransport runs f with a server on stdio and with one on HTTP.
func eachTransport(t *testing.T, f func(t *testing.T, http bool)) {
	for _, http := range []bool{false, true} {
		t.Run(map[bool]string{false: "stdio", true: "http"}[http], inBubble(func(t *testing.T) { f(t, http) }))
	}
}

// serverAskingTwice returns a modern server that answers input_required twice before its result.
func serverAskingTwice(http bool) *actortest.Modern {
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

// A legacy client gets the requests of a modern server, which returns input_required twice.
func TestLegacyClientModernServer(t *testing.T) {
	eachTransport(t, func(t *testing.T, http bool) {
		server := serverAskingTwice(http)
		h := openModern(t, server, Options{})
		h.clientCapabilities = `{"elicitation":{},"sampling":{}}`
		defer h.close()
		h.initialize()
		got := h.send(`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"one_ask","arguments":{},"_meta":{"progressToken":"t"}}}`)
		if len(got) != 3 || !strings.Contains(got[0], `"progressToken":"t"`) || !strings.Contains(got[1], "elicitation/create") || !strings.Contains(got[2], "sampling/createMessage") {
			t.Fatalf("client got %q, want progress and two server requests", got)
		}
		if got := h.send(`{"jsonrpc":"2.0","id":2,"result":{"role":"assistant","content":{"type":"text","text":"x"},"model":"m"}}`); len(got) != 0 {
			t.Fatalf("after one of two answers: %q", got)
		}
		got = h.send(`{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{}}}`)
		if len(got) != 1 || !strings.Contains(got[0], `"id":3,"method":"elicitation/create"`) {
			t.Fatalf("after both answers: %q, want the next server request", got)
		}
		got = h.send(`{"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"no"}}`)
		if want := `{"jsonrpc":"2.0","id":"c","result":{"content":[{"type":"text","text":"second"}]}}`; !slices.Equal(got, []string{want}) {
			t.Errorf("got %q, want %s", got, want)
		}
		calls := server.Received("tools/call")
		if last := string(calls[2].Frame.Raw); !strings.Contains(last, `"inputResponses":{"c":{"action":"cancel"}}`) {
			t.Errorf("last request %s", last)
		}
	})
}

// When a client cancels its call, pending server requests are withdrawn under the IDs that the client knows, and late
// answers are dropped. The modern server is sent nothing, because its request had already ended with input_required.
func TestCancelWithdrawsServerRequest(t *testing.T) {
	eachTransport(t, func(t *testing.T, http bool) {
		server := serverAskingTwice(http)
		h := openModern(t, server, Options{})
		h.clientCapabilities = `{"elicitation":{},"sampling":{}}`
		defer h.close()
		h.initialize()
		h.send(`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"one_ask","arguments":{}}}`)
		got := h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}}`)
		if len(got) != 2 || !strings.Contains(got[0], `"notifications/cancelled","params":{"requestId":1,`) || !strings.Contains(got[1], `"notifications/cancelled","params":{"requestId":2,`) {
			t.Errorf("the client got %q, want both server requests withdrawn", got)
		}
		if got := h.send(`{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{}}}`); len(got) != 0 || len(server.Received("tools/call")) != 1 {
			t.Errorf("after a late answer: the client got %q, the server %d calls", got, len(server.Received("tools/call")))
		}
	})
}

// The capabilities a client declares are passed on to a modern server, even if the negotiated version does not define them.
func TestDeclaredCapabilitiesReachModernServer(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Modern{Tools: []string{"ask"}}
		h := openModern(t, server, Options{})
		defer h.close()
		h.waitReady()
		h.roundTrip(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{"elicitation":{},"sampling":{}},"clientInfo":{"name":"t","version":"1"}}}`)
		h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one_ask","arguments":{}}}`)
		if sent := string(server.Received("tools/call")[0].Frame.Raw); !strings.Contains(sent, `clientCapabilities":{"elicitation":{"form":{}},"sampling":{}}`) {
			t.Errorf("the server got %s, want the declared elicitation and sampling", sent)
		}
	})(t)
}

// A modern client answers a modern server's input requests. The gateway keeps no state between rounds.
func TestModernClientModernServer(t *testing.T) {
	eachTransport(t, func(t *testing.T, http bool) {
		server := serverAskingTwice(http)
		h := openModern(t, server, Options{})
		defer h.close()
		h.waitReady()
		r := parseModern(t, h.roundTrip(modernCall(1, allCapabilities, "")))
		for round, state := range []string{"first", "second"} {
			if r.Result.ResultType != "input_required" || r.Result.RequestState == "" || r.Result.RequestState == state {
				t.Fatalf("round %d: %+v, want input requests and a sealed state", round, r)
			}
			answers := `,"inputResponses":{"a":{"action":"accept","content":{}},"b":{"role":"assistant","content":{"type":"text","text":"x"},"model":"m"},"c":{"action":"accept","content":{}}}`
			r = parseModern(t, h.roundTrip(modernCall(2+round, allCapabilities, fmt.Sprintf(`,"requestState":%q`, r.Result.RequestState)+answers)))
		}
		if r.Result.ResultType != "complete" || len(r.Result.Content) != 1 || !strings.Contains(string(r.Result.Content[0]), "second") {
			t.Errorf("after the last round: %+v", r)
		}
		if sent := string(server.Received("tools/call")[1].Frame.Raw); !strings.Contains(sent, `"requestState":"first"`) {
			t.Errorf("the server got %s, want its own state back", sent)
		}
	})
}

// A legacy client gets list changes of a modern server and cannot subscribe to an unlisted resource.
func TestLegacyClientSubscribesToModernServer(t *testing.T) {
	eachTransport(t, func(t *testing.T, http bool) {
		server := serverAskingTwice(http)
		h := openModern(t, server, Options{})
		defer h.close()
		h.initialize()
		server.SetTools("ask", "more")
		time.Sleep(time.Second)
		if got := h.received(); len(got) != 1 || !strings.Contains(got[0], "tools/list_changed") {
			t.Fatalf("after a change the client got %q", got)
		}
		if got := h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"resource://one/file:///a"}}`); !strings.Contains(got, "error") {
			t.Fatalf("subscribe to an unlisted resource: %s", got)
		}
	})
}

// An update from a modern server reaches a legacy client without a subscriptionId, and a modern client with the ID of its
// own stream. The rest of _meta is kept.
func TestSubscriptionIDStaysOnStream(t *testing.T) {
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
		h.received()
		const head = `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{`
		server.Notify("notifications/resources/updated", `,"uri":"file:///a"`)
		got := h.received()
		slices.Sort(got)
		want := []string{head + `"_meta":{"io.modelcontextprotocol/subscriptionId":11},"uri":"resource://one/file:///a"}}`, head + `"uri":"resource://one/file:///a"}}`}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		stream := server.Received("subscriptions/listen")
		last := stream[len(stream)-1]
		last.Notify("notifications/resources/updated", fmt.Sprintf(`{"uri":"file:///a","_meta":{"x":1.0,"io.modelcontextprotocol/subscriptionId":%s}}`, last.ID()))
		got = h.received()
		slices.Sort(got)
		want = []string{head + `"uri":"resource://one/file:///a","_meta":{"io.modelcontextprotocol/subscriptionId":11,"x":1.0}}}`, head + `"uri":"resource://one/file:///a","_meta":{"x":1.0}}}`}
		if !slices.Equal(got, want) {
			t.Errorf("with more in _meta: got %q, want %q", got, want)
		}
	})
}

// The detected era is stored: after a restart, a legacy probe is not repeated.
func TestErasAreStored(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	start := func() []string {
		server := &actortest.Modern{Tools: []string{"a"}}
		var methods []string
		inBubble(func(t *testing.T) {
			h := startStdioWith(t, map[string]func(upstream.Sink) upstream.Link{"one": server.Open}, "stdio", Options{State: path}, nil)
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
		t.Fatalf("in the first run the server got %v", got)
	}
	if got := start(); !slices.Equal(got, []string{"server/discover"}) {
		t.Errorf("in the second run the server got %v, want no initialize", got)
	}
}

// When a modern server's URL is taken over by an older server, which refuses every modern request, the gateway detects the
// era again, and calls succeed from then on.
func TestServerReplacedByOlderOne(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Modern{HTTP: true, Tools: []string{"add"}}
		h := openModern(t, server, Options{})
		defer h.close()
		h.initialize()
		if got := h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one_add","arguments":{}}}`); !strings.Contains(got, "modern") {
			t.Fatalf("the first call: %s", got)
		}
		refused := func(g actortest.Message) bool { // like servers made with the Python SDK 1
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
			if g.Frame.Method != protocol.MethodInitialize {
				return false
			}
			g.Result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}`)
			return true
		}
		if got := h.roundTrip(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_add","arguments":{}}}`); !strings.Contains(got, "Missing session ID") {
			t.Errorf("the first call after the change: %s", got)
		}
		time.Sleep(10 * time.Second)
		h.received()
		h.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"one_add","arguments":{}}}`)
		time.Sleep(10 * time.Second) // until a connection opens: a legacy server has one for each client class
		if got := h.received(); len(got) != 1 || !strings.Contains(got[0], "legacy") {
			t.Errorf("the next call: %s", got)
		}
	})(t)
}

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
	"goblin-actor/protocol/transport"
)

// openModern is a gateway over one modern server, "one", on stdio or behind HTTP.
func openModern(t *testing.T, server *actortest.Modern, o Options) *house {
	t.Helper()
	kind := "stdio"
	if server.HTTP {
		kind = "http"
	}
	return openOn(t, map[string]func(transport.Sink) transport.Link{"one": server.Open}, kind, o, func(c *config.Config) {
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
	return &actortest.Modern{HTTP: http, Tools: []string{"ask"}, Changes: true, Known: []string{"file:///a"}, Handle: func(g actortest.Got) {
		switch state, _ := protocol.Unquote(g.Params.RequestState.Of(g.Frame.Raw)); state {
		case "":
			g.Note("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":1}`, g.ID()))
			g.Result(`{"resultType":"input_required","inputRequests":{"a":{` + elicit + `},"b":{` + sampled + `}},"requestState":"first"}`)
		case "first":
			g.Result(`{"resultType":"input_required","inputRequests":{"c":{` + elicit + `}},"requestState":"second"}`)
		default:
			g.Result(`{"resultType":"complete","content":[{"type":"text","text":"` + state + `"}]}`)
		}
	}}
}

// bridge.md section 3: legacy client, modern server.
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
		calls := server.Got("tools/call")
		if last := string(calls[2].Frame.Raw); !strings.Contains(last, `"inputResponses":{"c":{"action":"cancel"}}`) {
			t.Errorf("last request %s", last)
		}
	})
}

// bridge.md section 3: modern client, modern server. Nothing of ours waits while the client thinks.
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
		if sent := string(server.Got("tools/call")[1].Frame.Raw); !strings.Contains(sent, `"requestState":"first"`) {
			t.Errorf("the server got %s, want its own state back", sent)
		}
	})
}

// bridge.md section 4: a legacy client subscribes; the modern server is listened to.
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

// The era found is remembered: after a restart nobody is asked again.
func TestErasOutliveTheGateway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	start := func(server *actortest.Server) []string {
		var methods []string
		within(func(t *testing.T) {
			h := openOn(t, map[string]func(transport.Sink) transport.Link{"one": server.Open}, "stdio", Options{State: path}, nil)
			defer h.close()
			h.initialize()
			for _, m := range []string{"server/discover", "initialize"} {
				for range server.Got(m) {
					methods = append(methods, m)
				}
			}
			time.Sleep(time.Minute) // the store writes
		})(t)
		return methods
	}
	if got := start(&actortest.Server{Tools: []string{"a"}}); !slices.Equal(got, []string{"server/discover", "initialize"}) {
		t.Fatalf("the first time the server got %v", got)
	}
	if got := start(&actortest.Server{Tools: []string{"a"}}); !slices.Equal(got, []string{"initialize"}) {
		t.Errorf("the second time the server got %v, want no question", got)
	}
}

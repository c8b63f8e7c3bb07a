package actors

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// dualServer returns a server of both eras whose tool sends an elicitation during its call, which works on legacy connections only.
// With Python SDK 2, every tool that was written for earlier versions behaves like this.
func dualServer(http, session bool) *actortest.Modern {
	var waiting actortest.Message
	s := &actortest.Modern{HTTP: http, Tools: []string{"ask"}, ListChanged: true}
	s.Handle = func(g actortest.Message) {
		if g.Params.MetaVersion.Present() {
			g.Error(-32600, "Cannot send 'elicitation/create': this transport context has no back-channel", "")
			return
		}
		waiting = g
		g.SendRequest(`{"jsonrpc":"2.0","id":"q",` + elicit + `}`)
	}
	s.HandleOther = func(g actortest.Message) bool {
		if g.Frame.Method == protocol.MethodInitialize {
			g.AnswerInitialize(session, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"fake","version":"2"}}`)
		}
		return g.Frame.Method == protocol.MethodInitialize
	}
	s.HandleAnswer = func(g actortest.Message) { waiting.Result(`{"content":` + string(g.Frame.ResultBytes()) + `}`) }
	return s
}

const accepted = `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{}}}`

// A URL supports both eras. A legacy client's call goes to a legacy connection, where the tool can send requests. A
// modern client's call goes to the modern connection, as it would without the gateway.
func TestLegacyClientOfURLWithBothEras(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := dualServer(true, true)
		h := openModern(t, server, Options{})
		defer h.close()
		h.clientCapabilities = `{"elicitation":{}}`
		h.waitReady()
		h.initialize()
		h.send(call(1))
		time.Sleep(5 * time.Second) // the legacy connection is opened for it
		if got := h.received(); len(got) != 1 || !strings.Contains(got[0], "elicitation/create") {
			t.Fatalf("the client got %q, want the elicitation", got)
		}
		h.expect(accepted, `{"jsonrpc":"2.0","id":1,"result":{"content":{"action":"accept","content":{}}}}`)
		if init := server.Received("initialize"); len(init) != 1 || !strings.Contains(string(init[0].Frame.Raw), `"capabilities":{"elicitation":{"form":{}}}`) {
			t.Errorf("%d legacy connections, want one with the client's capabilities", len(init))
		}
		if r := parseModern(t, h.roundTrip(modernCall(2, allCapabilities, ""))); r.Error == nil || !strings.Contains(r.Error.Message, "back-channel") {
			t.Errorf("a modern client got %+v, want the server's own error", r)
		}
	})(t)
}

// A URL supports both eras, but its legacy era has no sessions and thus cannot send requests (go-sdk in stateless mode). Legacy
// clients are served by the modern connection.
func TestLegacyClientOfURLWithoutSessions(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := dualServer(true, false)
		h := openModern(t, server, Options{})
		defer h.close()
		h.clientCapabilities = `{"elicitation":{}}`
		h.waitReady()
		h.initialize()
		for id := range 3 {
			got := h.send(call(id))
			time.Sleep(5 * time.Second)
			if got = append(got, h.received()...); len(got) != 1 || !strings.Contains(got[0], "back-channel") {
				t.Errorf("the client got %q, want the response of the modern connection", got)
			}
		}
		if n := len(server.Received("initialize")); n != 1 {
			t.Errorf("the server got %d initialize requests, want 1", n)
		}
	})(t)
}

// A URL supports the modern era only. It is probed once, and legacy clients are served by the modern connection. After a
// reconnect it may be another server and is probed again.
func TestLegacyClientOfURLWithModernEraOnly(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Modern{HTTP: true, Tools: []string{"ask"}}
		h := openModern(t, server, Options{})
		defer h.close()
		h.clientCapabilities = `{"elicitation":{}}`
		h.waitReady()
		h.initialize()
		calls := func(want int) {
			t.Helper()
			for id := range 3 {
				got := h.send(call(id))
				time.Sleep(time.Minute)
				if got = append(got, h.received()...); len(got) != 1 || !strings.Contains(got[0], "modern") {
					t.Errorf("the client got %q, want the result", got)
				}
			}
			if n := len(server.Received("initialize")); n != want {
				t.Errorf("the server got %d initialize requests, want %d", n, want)
			}
		}
		calls(1)
		server.First().Close(nil)
		time.Sleep(time.Minute)
		calls(2)
	})(t)
}

// While the legacy connection cannot be opened, calls use the modern one without waiting.
func TestLegacyConnectionOfURLFails(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := dualServer(true, true)
		var failing atomic.Bool // read by the server's goroutines
		failing.Store(true)
		other := server.HandleOther
		server.HandleOther = func(g actortest.Message) bool {
			if failing.Load() && g.Frame.Method == protocol.MethodInitialize {
				_ = g.Peer.Tell(upstream.Ended{Ticket: g.Out.Ticket, Err: &upstream.StatusError{Code: 503}})
				return true
			}
			return other(g)
		}
		h := openModern(t, server, Options{})
		defer h.close()
		h.clientCapabilities = `{"elicitation":{}}`
		h.waitReady()
		h.initialize()
		got := h.send(call(1))
		time.Sleep(time.Second)
		if got = append(got, h.received()...); len(got) != 1 || !strings.Contains(got[0], "back-channel") {
			t.Errorf("while it fails: %s, want the response of the modern connection", got)
		}
		failing.Store(false)
		time.Sleep(10 * time.Minute)
		h.received()
		if got := h.roundTrip(call(2)); !strings.Contains(got, "elicitation/create") {
			t.Errorf("after it has recovered: %s, want an elicitation", got)
		}
	})(t)
}

// A process that supports both eras is opened in the legacy era, where its tool can send requests. Clients of both eras get
// the elicitation.
func TestProcessWithBothEras(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := dualServer(false, false)
		h := openModern(t, server, Options{})
		defer h.close()
		h.clientCapabilities = `{"elicitation":{}}`
		h.waitReady()
		h.initialize()
		if got := h.send(call(1)); len(got) != 1 || !strings.Contains(got[0], "elicitation/create") {
			t.Fatalf("the legacy client got %q, want the elicitation", got)
		}
		h.expect(accepted, `{"jsonrpc":"2.0","id":1,"result":{"content":{"action":"accept","content":{}}}}`)
		h.send(modernCall(2, allCapabilities, ""))
		time.Sleep(time.Second)
		if got := h.received(); len(got) != 1 || !strings.Contains(got[0], `"inputRequests":{"q1":{"method":"elicitation/create"`) {
			t.Errorf("the modern client got %q, want the elicitation", got)
		}
		if n := server.Opened(); n != 1 {
			t.Errorf("%d processes, want 1", n)
		}
	})(t)
}

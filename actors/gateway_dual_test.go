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

// dual is a server of both eras whose tool asks in the middle of its work, which it can on a legacy connection only: with
// Python's SDK 2 that is every tool that was written for the versions before.
func dual(http, session bool) *actortest.Modern {
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
		if g.Frame.M == protocol.MethodInitialize {
			g.AnswerInitialize(session, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"fake","version":"2"}}`)
		}
		return g.Frame.M == protocol.MethodInitialize
	}
	s.HandleAnswer = func(g actortest.Message) { waiting.Result(`{"content":` + string(g.Frame.ResultBytes()) + `}`) }
	return s
}

const accepted = `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{}}}`

// A legacy client's call to a URL that has both eras goes out on a legacy connection, where the tool can ask; a modern
// client's on the modern one, as it would without us.
func TestALegacyClientOfAURLWithBothEras(t *testing.T) {
	within(func(t *testing.T) {
		server := dual(true, true)
		h := openModern(t, server, Options{})
		defer h.close()
		h.can = `{"elicitation":{}}`
		h.ready()
		h.initialize()
		h.send(call(1))
		time.Sleep(5 * time.Second) // the connection is made for it
		if got := h.got(); len(got) != 1 || !strings.Contains(got[0], "elicitation/create") {
			t.Fatalf("the client got %q, want to be asked", got)
		}
		h.want(accepted, `{"jsonrpc":"2.0","id":1,"result":{"content":{"action":"accept","content":{}}}}`)
		if init := server.Received("initialize"); len(init) != 1 || !strings.Contains(string(init[0].Frame.Raw), `"capabilities":{"elicitation":{"form":{}}}`) {
			t.Errorf("%d connections were made for legacy clients, want one that declares what the client did", len(init))
		}
		if r := parseModern(t, h.one(modernCall(2, allCapabilities, ""))); r.Error == nil || !strings.Contains(r.Error.Message, "back-channel") {
			t.Errorf("a modern client got %+v, want the server's own error", r)
		}
	})(t)
}

// A URL whose legacy era has no sessions can ask in the modern one alone (go-sdk without sessions): its legacy clients are served
// by the modern connection.
func TestALegacyClientOfAURLWithoutSessions(t *testing.T) {
	within(func(t *testing.T) {
		server := dual(true, false)
		h := openModern(t, server, Options{})
		defer h.close()
		h.can = `{"elicitation":{}}`
		h.ready()
		h.initialize()
		for id := range 3 {
			got := h.send(call(id))
			time.Sleep(5 * time.Second)
			if got = append(got, h.got()...); len(got) != 1 || !strings.Contains(got[0], "back-channel") {
				t.Errorf("the client got %q, want what the modern connection gives", got)
			}
		}
		if n := len(server.Received("initialize")); n != 1 {
			t.Errorf("the server was asked %d times for its legacy era, want once", n)
		}
	})(t)
}

// A URL that has the modern era alone is asked once; its legacy clients are served by the modern connection. When it is
// connected to anew it may be another server, and is asked again.
func TestALegacyClientOfAURLWithOneEra(t *testing.T) {
	within(func(t *testing.T) {
		server := &actortest.Modern{HTTP: true, Tools: []string{"ask"}}
		h := openModern(t, server, Options{})
		defer h.close()
		h.can = `{"elicitation":{}}`
		h.ready()
		h.initialize()
		calls := func(want int) {
			t.Helper()
			for id := range 3 {
				got := h.send(call(id))
				time.Sleep(time.Minute)
				if got = append(got, h.got()...); len(got) != 1 || !strings.Contains(got[0], "modern") {
					t.Errorf("the client got %q, want the result", got)
				}
			}
			if n := len(server.Received("initialize")); n != want {
				t.Errorf("the server was asked %d times for a legacy era, want %d", n, want)
			}
		}
		calls(1)
		server.First().Close(nil)
		time.Sleep(time.Minute)
		calls(2)
	})(t)
}

// While the legacy connection cannot be made, the modern one serves; nobody waits for it.
func TestTheLegacyConnectionOfAURLIsLost(t *testing.T) {
	within(func(t *testing.T) {
		server := dual(true, true)
		var ill atomic.Bool // the server reads it on goroutines of its own
		ill.Store(true)
		other := server.HandleOther
		server.HandleOther = func(g actortest.Message) bool {
			if ill.Load() && g.Frame.M == protocol.MethodInitialize {
				_ = g.Peer.Tell(upstream.Ended{Ticket: g.Out.Ticket, Err: &upstream.StatusError{Code: 503}})
				return true
			}
			return other(g)
		}
		h := openModern(t, server, Options{})
		defer h.close()
		h.can = `{"elicitation":{}}`
		h.ready()
		h.initialize()
		got := h.send(call(1))
		time.Sleep(time.Second)
		if got = append(got, h.got()...); len(got) != 1 || !strings.Contains(got[0], "back-channel") {
			t.Errorf("while it is ill: %s, want what the modern connection gives", got)
		}
		ill.Store(false)
		time.Sleep(10 * time.Minute)
		h.got()
		if got := h.one(call(2)); !strings.Contains(got, "elicitation/create") {
			t.Errorf("when it is well again: %s, want a question", got)
		}
	})(t)
}

// A process that speaks both eras is opened in the legacy one, where its tool can ask: clients of both eras are asked.
func TestAProcessWithBothEras(t *testing.T) {
	within(func(t *testing.T) {
		server := dual(false, false)
		h := openModern(t, server, Options{})
		defer h.close()
		h.can = `{"elicitation":{}}`
		h.ready()
		h.initialize()
		if got := h.send(call(1)); len(got) != 1 || !strings.Contains(got[0], "elicitation/create") {
			t.Fatalf("the legacy client got %q, want to be asked", got)
		}
		h.want(accepted, `{"jsonrpc":"2.0","id":1,"result":{"content":{"action":"accept","content":{}}}}`)
		h.send(modernCall(2, allCapabilities, ""))
		time.Sleep(time.Second)
		if got := h.got(); len(got) != 1 || !strings.Contains(got[0], `"inputRequests":{"q1":{"method":"elicitation/create"`) {
			t.Errorf("the modern client got %q, want to be asked", got)
		}
		if n := server.Opened(); n != 1 {
			t.Errorf("%d processes, want 1", n)
		}
	})(t)
}

package actors

import (
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream/pipe"
)

// startJoined starts two nodes that are connected by a bus. The first has the servers of serversA, the second those of serversB.
func startJoined(t *testing.T, change func(*config.Config), serversA, serversB map[string]*actortest.Server) (a, b *httpHarness, relay *testRelay, net *actortest.Network) {
	t.Helper()
	secrets, err := cluster.NewSecrets([]string{cluster.NewSecret()})
	if err != nil {
		t.Fatal(err)
	}
	net, relay = actortest.NewNetwork(ErrNoNode), &testRelay{nodes: map[string]*Gateway{}}
	start := func(name string, servers map[string]*actortest.Server) *httpHarness {
		c := &Cluster{Name: "prod", Node: name, Address: name + ":1", Secrets: secrets, Members: cluster.NewMembers(cluster.NewIncarnation()), Relay: relay, Bus: net.Bus(name)}
		w := startNode(t, c, servers, change)
		relay.mu.Lock()
		relay.nodes[c.Members.Self()] = w.gateway
		relay.mu.Unlock()
		return w
	}
	a, b = start("a", serversA), start("b", serversB)
	a.eventually("the nodes know each other", func() bool {
		return len(a.gateway.cluster.Members.View().Members) == 2 && len(b.gateway.cluster.Members.View().Members) == 2
	})
	return a, b, relay, net
}

// When a session ends at its home, every other node answers like the home, whether a guest of the session runs there or not: a new
// guest asks the home, and a request that meets the end of a guest is passed on. While the home cannot be asked, a new guest trusts
// the session id.
func TestEndedSessionAtOtherNodes(t *testing.T) {
	a, b, _, net := startJoined(t, nil, echoServers(), echoServers())
	for _, guest := range []bool{true, false} {
		session := []string{"Mcp-Session-Id", a.open("/mcp")}
		if guest {
			if got := b.do("POST", "/mcp", pingFrame, session...); got.status != 200 {
				t.Fatalf("while it lives: %+v", got)
			}
		}
		if got := a.do("DELETE", "/mcp", "", session...); got.status != 204 {
			t.Fatalf("DELETE: %+v", got)
		}
		b.eventually("the guest has ended", func() bool {
			s, err := b.gateway.Status(t.Context())
			return err == nil && len(s.Sessions) == 0
		})
		home := a.do("POST", "/mcp", pingFrame, session...)
		if got := b.do("POST", "/mcp", pingFrame, session...); got != home || got.status != 404 {
			t.Errorf("guest before %v: the other node answered %+v, the home %+v", guest, got, home)
		}
	}
	lives := []string{"Mcp-Session-Id", a.open("/mcp")}
	net.Part("a", true)
	if got := b.do("POST", "/mcp", pingFrame, lives...); got.status != 200 {
		t.Errorf("without an answer of the home: %+v", got)
	}
}

// A session that is used only at other nodes is not idle at its home.
func TestGuestKeepsSessionAlive(t *testing.T) {
	a, b, _, _ := startJoined(t, func(c *config.Config) { c.Limits.SessionIdle = time.Second }, echoServers(), echoServers())
	session := []string{"Mcp-Session-Id", a.open("/mcp")}
	for began := time.Now(); time.Since(began) < 2500*time.Millisecond; time.Sleep(50 * time.Millisecond) {
		if got := b.do("POST", "/mcp", pingFrame, session...); got.status != 200 {
			t.Fatalf("after %v: %+v", time.Since(began), got)
		}
	}
	if got := a.do("POST", "/mcp", pingFrame, session...); got.status != 200 {
		t.Errorf("at home: %+v", got)
	}
}

// A client cancels a call wherever it runs, and whichever node gets the cancellation. Another client's cancellation has no effect.
func TestCancelAtAnyNode(t *testing.T) {
	serverA, sayA := slowServer(t)
	serverB, sayB := slowServer(t)
	defer close(sayA)
	defer close(sayB)
	a, b, _, _ := startJoined(t, withAuth, map[string]*actortest.Server{"one": serverA}, map[string]*actortest.Server{"one": serverB})
	for _, w := range []*httpHarness{a, b} {
		w.people.get("owner")
		w.people.get("thief")
	}
	for _, c := range []struct {
		calls, cancels *httpHarness
		guest          bool // of the session at b before the call
	}{{a, b, false}, {a, b, true}, {b, a, false}, {b, b, false}, {a, a, true}} {
		id := a.openAs("owner", "/mcp")
		if c.guest {
			b.do("POST", "/mcp", pingFrame, asUser("owner", "Mcp-Session-Id", id)...)
		}
		server := map[*httpHarness]*actortest.Server{a: serverA, b: serverB}[c.calls]
		calls, canceled := len(server.Received("tools/call")), len(server.Received("notifications/cancelled"))
		answer := make(chan reply, 1)
		go func() { answer <- c.calls.do("POST", "/mcp", slowCall, asUser("owner", "Mcp-Session-Id", id)...) }()
		c.calls.eventually("the call reaches the server", func() bool { return len(server.Received("tools/call")) > calls })
		const cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`
		if got := c.cancels.do("POST", "/mcp", cancel, asUser("thief", "Mcp-Session-Id", id)...); got.status != 404 {
			t.Errorf("the thief's cancellation: %+v", got)
		}
		if got := c.cancels.do("POST", "/mcp", cancel, asUser("owner", "Mcp-Session-Id", id)...); got.status != 202 {
			t.Errorf("cancellation: %+v", got)
		}
		if got := <-answer; !strings.Contains(got.body, `"CANCELLED"`) {
			t.Errorf("the call ended with %+v", got)
		}
		c.calls.eventually("the server receives the cancellation", func() bool { return len(server.Received("notifications/cancelled")) > canceled })
		if n := len(server.Received("notifications/cancelled")) - canceled; n != 1 {
			t.Errorf("%d cancellations", n)
		}
	}
}

// The log level that a client sets holds for its calls at all nodes: for a guest that starts later, and for one that runs.
func TestLogLevelAtOtherNodes(t *testing.T) {
	talking := func() map[string]*actortest.Server {
		return map[string]*actortest.Server{"one": {Tools: []string{"a"}, Logging: true, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			_ = p.Send([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"line"}}`))
			_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[]}`)))
		}}}
	}
	a, b, _, _ := startJoined(t, nil, talking(), talking())
	session := []string{"Mcp-Session-Id", a.open("/mcp")}
	setLevel := func(level string) {
		t.Helper()
		if got := a.do("POST", "/mcp", `{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"`+level+`"}}`, session...); got.status != 200 {
			t.Fatalf("%+v", got)
		}
	}
	hasLine := func() bool {
		t.Helper()
		got := b.do("POST", "/mcp", `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"one_a"}}`, session...)
		if !strings.Contains(got.body, `"content":[]`) {
			t.Fatalf("%+v", got)
		}
		return strings.Contains(got.body, `"line"`)
	}
	if setLevel("error"); hasLine() {
		t.Error("the guest does not know the level that was set before it started")
	}
	setLevel("info")
	b.eventually("lines of level info", hasLine)
	setLevel("error")
	b.eventually("no lines of level info", func() bool { return !hasLine() })
}

// When a server at one node changes its tools, the clients of all nodes are notified, in both eras.
func TestCatalogChangeAtAnotherNode(t *testing.T) {
	serversA, serversB := echoServers(), echoServers()
	a, _, _, _ := startJoined(t, nil, serversA, serversB)
	session := []string{"Mcp-Session-Id", a.open("/mcp")}
	a.do("POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, session...)
	legacy, _ := a.listen("/mcp", session...)
	modernStream, _ := a.post("/mcp", modern(9, "subscriptions/listen", "{}", `,"notifications":{"toolsListChanged":true}`), "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
	if got := modernStream.data(); !strings.Contains(got, "acknowledged") {
		t.Fatalf("listen: %s", got)
	}
	serversB["one"].SetTools(true, "a", "b")
	for name, stream := range map[string]*events{"legacy": legacy, "modern": modernStream} {
		if got := stream.dataOrTimeout(); !strings.Contains(got, "notifications/tools/list_changed") {
			t.Errorf("%s: %s", name, got)
		}
		stream.close()
	}
}

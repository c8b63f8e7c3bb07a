package actors

import (
	"bytes"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/relay"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/pipe"
)

// relayNode is a node of a cluster that passes requests on over HTTPS.
type relayNode struct {
	*httpHarness
	incarnation string
	relay       *relay.Relay
	listener    *downstream.Server // for the other nodes
}

// targets are the nodes of a cluster by incarnation.
type targets struct {
	mu sync.Mutex
	of map[string]relay.Target
}

func (s *targets) resolve(incarnation string) (relay.Target, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.of[incarnation]
	return t, ok
}

func (s *targets) set(incarnation string, t relay.Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[incarnation] = t
}

// Holder finds a principal by its holder, as the keys of a node do.
func (p *people) Holder(holder string) (*identity.Principal, *downstream.Refusal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, who := range p.all {
		if identity.HolderOf(who) == holder {
			return who, nil
		}
	}
	if holder == identity.LocalID {
		return identity.Local, nil
	}
	return nil, &downstream.Refusal{Status: 401, Challenge: downstream.InvalidToken, Fault: &protocol.Fault{Name: protocol.Unauthenticated}}
}

// startRelays starts the nodes a, b and c, each with the servers that the function servers returns.
func startRelays(t *testing.T, servers func() map[string]*actortest.Server, change func(*config.Config)) (a, b, c *relayNode) {
	t.Helper()
	secrets, err := cluster.NewSecrets([]string{cluster.NewSecret()})
	if err != nil {
		t.Fatal(err)
	}
	all := &targets{of: map[string]relay.Target{}}
	start := func(name string) *relayNode {
		own, err := secrets.TLS(name)
		if err != nil {
			t.Fatal(err)
		}
		nodes := func() *tls.Config { return own }
		log := slog.New(slog.DiscardHandler)
		n := &relayNode{incarnation: cluster.NewIncarnation(), relay: relay.New(relay.Options{TLS: nodes, Resolve: all.resolve, Log: log})}
		t.Cleanup(n.relay.Close)
		n.httpHarness = startNode(t, &Cluster{Node: name, Secrets: secrets, Members: cluster.NewMembers(n.incarnation), Relay: n.relay}, servers(), change)
		n.listener = relay.NewServer(n.gateway.Relayed(), relay.ServerOptions{Node: name, TLS: nodes, Keys: &n.people, MaxMessageBytes: 1 << 20, Budget: n.gateway.Budget(), Log: log})
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		all.set(n.incarnation, relay.Target{Node: name, Address: l.Addr().String()})
		served := make(chan error, 1)
		go func() { served <- n.listener.Serve(l) }()
		t.Cleanup(func() {
			n.die()
			<-served
		})
		return n
	}
	return start("a"), start("b"), start("c")
}

// die closes the connections of other nodes and the listener for them.
func (n *relayNode) die() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = n.listener.Shutdown(ctx)
}

// What needs the session's home gets the same response at every node.
func TestRelayedResponses(t *testing.T) {
	servers := func() map[string]*actortest.Server {
		one := taskServer()
		one.Resources = []string{"x://r"}
		return map[string]*actortest.Server{"one": one}
	}
	a, b, c := startRelays(t, servers, nil)
	id := a.do("POST", "/mcp", initializeRequest(protocol.LatestLegacy)).session
	session := []string{"Mcp-Session-Id", id}
	for _, frame := range []string{
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"unknown/method"}`,
		`{"jsonrpc":"2.0","id":"s","method":"logging/setLevel","params":{"level":"error"}}`,
		`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"none://x"}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tasks/list"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"none"}}`,
		`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`,
		`{"jsonrpc":"2.0","id":"1","result":{}}`,
		"[" + pingFrame + `,{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":4,"method":"y"}]`,
		`[]`,
		strings.Replace(initializeFrame, `"id":1`, `"id":2`, 1),
	} {
		for _, headers := range [][]string{session, append(session, "MCP-Protocol-Version", protocol.LatestLegacy), append(session, "Accept", "application/json"), append(session, "Accept", "text/event-stream"),
			append(session, "Goblin-Project", "x"), append(session, "MCP-Protocol-Version", "1999-01-01")} {
			want := a.do("POST", "/mcp", frame, headers...)
			for _, n := range []*relayNode{b, c} {
				if got := n.do("POST", "/mcp", frame, headers...); got != want {
					t.Errorf("%s, %v: %+v, the home answers %+v", frame, headers[2:], got, want)
				}
			}
		}
	}
	if b.relay.Stats().Total == 0 || c.relay.Stats().Total == 0 || a.relay.Stats().Total != 0 {
		t.Errorf("a %+v, b %+v, c %+v", a.relay.Stats(), b.relay.Stats(), c.relay.Stats())
	}
	task := b.do("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_dig","task":{}}}`, session...)
	if !strings.Contains(task.body, `"status":"working"`) {
		t.Errorf("task: %+v", task)
	}
	list := `{"jsonrpc":"2.0","id":2,"method":"tasks/list"}`
	if got, want := c.do("POST", "/mcp", list, session...), a.do("POST", "/mcp", list, session...); got != want || !strings.Contains(got.body, "working") {
		t.Errorf("tasks: %+v, the home has %+v", got, want)
	}
	if got := b.do("DELETE", "/mcp", "", session...); got.status != 204 {
		t.Errorf("DELETE: %+v", got)
	}
	for _, n := range []*relayNode{a, b, c} {
		if got := n.do("POST", "/mcp", list, session...); got.status != 404 {
			t.Errorf("after DELETE: %+v", got)
		}
	}
}

// The stream of a session may be opened at any node. Subscriptions may be made at another one.
func TestRelayedStream(t *testing.T) {
	server := &actortest.Server{Resources: []string{"x://r"}}
	first := true
	servers := func() map[string]*actortest.Server {
		if first {
			first = false
			return map[string]*actortest.Server{"one": server}
		}
		return map[string]*actortest.Server{"one": {Resources: []string{"x://r"}}}
	}
	a, b, c := startRelays(t, servers, nil)
	session := []string{"Mcp-Session-Id", a.open("/mcp")}
	a.do("POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, session...)
	stream, resp := c.listen("/mcp", session...)
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatal(resp.StatusCode, resp.Header)
	}
	if e := stream.next(); !strings.Contains(e.id, "-g") {
		t.Errorf("the stream begins with %+v", e)
	}
	subscribe := `{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"resource://one/x://r"}}`
	if got := b.do("POST", "/mcp", subscribe, session...); !strings.Contains(got.body, `"result":{}`) {
		t.Fatalf("subscribe: %+v", got)
	}
	for range 2 {
		_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x://r"}}`))
		if got := stream.data(); !strings.Contains(got, "resources/updated") || !strings.Contains(got, "resource://one/x://r") {
			t.Fatalf("got %s", got)
		}
	}
	b.do("DELETE", "/mcp", "", session...)
	if e := stream.next(); e.ok {
		t.Errorf("after DELETE: %+v", e)
	}
}

// A client's answer and its cancellation reach the session's home from every node.
func TestRelayedAnswer(t *testing.T) {
	servers := func() map[string]*actortest.Server {
		calls := make(chan []byte, 1)
		server := serverSending("")
		server.Handle = func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			calls <- bytes.Clone(id)
			_ = p.Send([]byte(`{"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{"message":"name?","requestedSchema":{"type":"object"}}}`))
		}
		server.HandleOther = func(p *pipe.Peer, o upstream.Outgoing) {
			if bytes.Contains(o.Frame, []byte(`"result"`)) || bytes.Contains(o.Frame, []byte(`cancelled`)) {
				_ = p.Send(protocol.AppendResult(nil, <-calls, []byte(`{"content":[]}`)))
			}
		}
		return map[string]*actortest.Server{"one": server}
	}
	a, b, c := startRelays(t, servers, nil)
	opened := a.do("POST", "/mcp", strings.Replace(initializeFrame, `"capabilities":{}`, `"capabilities":`+allCapabilities, 1))
	session := []string{"Mcp-Session-Id", opened.session}
	for _, at := range []struct {
		calls, answers *relayNode
		cancel         bool
	}{{a, c, false}, {b, c, false}, {b, a, false}, {a, b, true}} {
		events, _ := at.calls.post("/mcp", `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"one_ask"}}`, session...)
		question := ""
		for question == "" {
			if data := events.data(); strings.Contains(data, "elicitation/create") {
				question = data
			}
		}
		id, _, _ := strings.Cut(strings.TrimPrefix(question, `{"jsonrpc":"2.0","id":`), ",")
		message, want := `{"jsonrpc":"2.0","id":`+id+`,"result":{"action":"accept","content":{}}}`, `"id":9,"result"`
		if at.cancel {
			message, want = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`, "CANCELLED"
		}
		if got := at.answers.do("POST", "/mcp", message, session...); got.status != 202 {
			t.Fatalf("%+v", got)
		}
		got := events.data()
		for strings.Contains(got, "notifications/cancelled") { // of the question
			got = events.data()
		}
		if !strings.Contains(got, want) {
			t.Errorf("the call ended with %s", got)
		}
		events.close()
	}
}

// The stream of a call that was lost at one node is resumed at another one.
func TestRelayedResumption(t *testing.T) {
	server, say := slowServer(t)
	a, b, c := startRelays(t, func() map[string]*actortest.Server { return map[string]*actortest.Server{"one": server} }, nil)
	session := []string{"Mcp-Session-Id", a.open("/mcp")}
	go func() { say <- "progress" }()
	events, _ := b.post("/mcp", slowCall, session...)
	first := events.next()
	for first.data == "" {
		first = events.next()
	}
	events.close()
	say <- "alone"
	resumed, resp := c.listen("/mcp", append(session, "Last-Event-ID", first.id)...)
	if resp.StatusCode != 200 {
		t.Fatal(resp.StatusCode)
	}
	close(say)
	if got := resumed.data(); !strings.Contains(got, "alone") {
		t.Errorf("got %s", got)
	}
	if got := resumed.data(); got != `{"jsonrpc":"2.0","id":7,"result":{"content":[]}}` {
		t.Errorf("got %s", got)
	}
	if e := resumed.next(); e.ok {
		t.Errorf("then %+v", e)
	}
	if c.relay.Stats().Total == 0 {
		t.Error("the stream was not passed on")
	}
}

// With HTTP+SSE, messages may be posted to any node. Their answers arrive on the stream.
func TestRelayedMessages(t *testing.T) {
	a, b, c := startRelays(t, echoServers, nil)
	stream, _ := a.listen("/sse")
	endpoint := stream.next().data
	for _, n := range []*relayNode{a, b, c} {
		if got := n.do("POST", endpoint, initializeFrame); n == a && got.status != 202 {
			t.Fatalf("%+v", got)
		}
		if got := n.do("POST", endpoint, pingFrame); got.status != 202 {
			t.Fatalf("%+v", got)
		}
		for got := ""; !strings.Contains(got, `"id":2,"result":{}`); {
			if got = stream.data(); got == "" {
				t.Fatal("the stream has ended")
			}
		}
	}
}

// A client that leaves ends the relayed request. As at the home itself, its call continues, and its stream can be resumed.
func TestRelayedClientLeaves(t *testing.T) {
	server, say := slowServer(t)
	a, b, c := startRelays(t, func() map[string]*actortest.Server { return map[string]*actortest.Server{"one": server} }, nil)
	session := []string{"Mcp-Session-Id", a.openLong()}
	go func() { say <- "progress" }()
	events, _ := b.post("/mcp", slowCall, session...)
	first := events.next()
	for first.data == "" {
		first = events.next()
	}
	if b.relay.Stats().Requests != 1 {
		t.Errorf("%+v", b.relay.Stats())
	}
	events.close()
	b.eventually("the relayed request to end", func() bool { return b.relay.Stats().Requests == 0 })
	say <- "alone"
	resumed, _ := c.listen("/mcp", append(session, "Last-Event-ID", first.id)...)
	close(say)
	if got := resumed.data() + resumed.data(); !strings.Contains(got, "alone") || !strings.Contains(got, `"id":7,"result"`) {
		t.Errorf("got %s", got)
	}
}

// openLong opens a session whose id holds no facts, so that all its requests are passed on.
func (w *httpHarness) openLong() string {
	w.t.Helper()
	return w.do("POST", "/mcp", strings.Replace(initializeFrame, `"name":"t"`, `"name":"`+strings.Repeat("n", cluster.MaxDeclared+1)+`"`, 1)).session
}

// When the home dies, a call that was passed on gets NODE_LOST, and a stream ends.
func TestRelayedHomeDies(t *testing.T) {
	servers := func() map[string]*actortest.Server {
		server := &actortest.Server{Tools: []string{"a"}, Handle: func(*pipe.Peer, protocol.Frame, []byte) {}}
		return map[string]*actortest.Server{"one": server}
	}
	a, b, c := startRelays(t, servers, nil)
	id := a.openLong()
	stream, _ := c.listen("/mcp", "Mcp-Session-Id", id)
	answered := make(chan reply, 1)
	go func() {
		answered <- b.do("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_a"}}`, "Mcp-Session-Id", id)
	}()
	a.eventually("the call to arrive", func() bool { s, err := a.gateway.Status(t.Context()); return err == nil && len(s.Calls) == 1 })
	a.die()
	if got := <-answered; got.status != 200 || !strings.Contains(got.body, `"id":2,"error":{"code":-31015,`) || !strings.Contains(got.body, `"code":"NODE_LOST","server":null,"retryable":false`) {
		t.Errorf("the call: %+v", got)
	}
	for e := stream.next(); e.ok; e = stream.next() {
		if e.data != "" {
			t.Errorf("the stream: %+v", e)
		}
	}
	if got := c.do("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tasks/list"}`, "Mcp-Session-Id", id); !strings.Contains(got.body, "SERVER_UNAVAILABLE") {
		t.Errorf("afterwards: %+v", got)
	}
}

// A principal's session is served at every node, as its own. A node that does not know the key refuses it.
func TestRelayedPrincipals(t *testing.T) {
	a, b, c := startRelays(t, echoServers, withAuth)
	for _, n := range []*relayNode{a, b, c} {
		n.people.get("owner")
	}
	b.people.get("thief")
	c.people.get("late") // the key files of a and b do not have it
	id := a.openAs("owner", "/mcp")
	list := `{"jsonrpc":"2.0","id":2,"method":"tasks/list"}`
	if got, want := b.do("POST", "/mcp", list, asUser("owner", "Mcp-Session-Id", id)...), a.do("POST", "/mcp", list, asUser("owner", "Mcp-Session-Id", id)...); got != want || got.status != 200 {
		t.Errorf("owner: %+v, at home %+v", got, want)
	}
	if got := b.do("POST", "/mcp", list, asUser("thief", "Mcp-Session-Id", id)...); got.status != 404 {
		t.Errorf("thief: %+v", got)
	}
	late := c.openAs("late", "/mcp")
	b.people.get("late")
	if got := b.do("POST", "/mcp", list, asUser("late", "Mcp-Session-Id", late)...); got.status != 200 {
		t.Errorf("late, at a node with its key: %+v", got)
	}
	delete(c.people.all, "late")
	if got := b.do("POST", "/mcp", list, asUser("late", "Mcp-Session-Id", late)...); got.status != 401 {
		t.Errorf("late, whose home no longer has its key: %+v", got)
	}
}

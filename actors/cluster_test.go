package actors

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/pipe"
)

// testRelay passes requests on to nodes in this process, and records them.
type testRelay struct {
	mu      sync.Mutex
	nodes   map[string]*Gateway // by incarnation
	relayed []string
}

func (r *testRelay) to(incarnation, what string) downstream.Handler {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.relayed = append(r.relayed, what)
	return r.nodes[incarnation].Relayed()
}

func (r *testRelay) Post(incarnation string, x *downstream.Exchange, _ cluster.Retry) {
	r.to(incarnation, x.Frame.MethodText()).Post(x)
}

func (r *testRelay) Open(incarnation string, s *downstream.EventStream, _ cluster.Retry) {
	r.to(incarnation, "GET").Open(s)
}

func (r *testRelay) Delete(incarnation string, x *downstream.Exchange, _ cluster.Retry) {
	r.to(incarnation, "DELETE").Delete(x)
}

// take returns what was relayed since the last call.
func (r *testRelay) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	relayed := r.relayed
	r.relayed = nil
	return relayed
}

// startCluster starts two nodes. Each has the servers that the function servers returns, or one that open connects to.
func startCluster(t *testing.T, servers func() map[string]*actortest.Server, change func(*config.Config), open ...func(upstream.Sink) upstream.Link) (a, b *httpHarness, relay *testRelay) {
	t.Helper()
	secrets, err := cluster.NewSecrets([]string{cluster.NewSecret()})
	if err != nil {
		t.Fatal(err)
	}
	relay = &testRelay{nodes: map[string]*Gateway{}}
	start := func() *httpHarness {
		node := &Cluster{Node: string("ab"[len(relay.nodes)]), Secrets: secrets, Members: cluster.NewMembers(cluster.NewIncarnation()), Relay: relay}
		w := startNode(t, node, servers(), change, open...)
		relay.mu.Lock()
		relay.nodes[node.Members.Self()] = w.gateway
		relay.mu.Unlock()
		return w
	}
	return start(), start(), relay
}

func echoServers() map[string]*actortest.Server {
	return map[string]*actortest.Server{"one": {Tools: []string{"a"}, Prompts: []string{"p"}, Resources: []string{"r"}}}
}

// A session lives on every node of a cluster. Requests that need nothing but the session's facts are served where they
// arrive, with the bytes that the home would send. Everything else is passed on to the home.
func TestGuests(t *testing.T) {
	a, b, relay := startCluster(t, echoServers, nil)
	id := a.open("/mcp")
	session := []string{"Mcp-Session-Id", id}
	a.do("POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, session...)
	for _, c := range []struct {
		frame, relayed string
	}{
		{pingFrame, ""},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, ""},
		{`{"jsonrpc":"2.0","id":2,"method":"resources/templates/list"}`, ""},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_a","arguments":{"x":1.0}}}`, ""},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"none"}}`, ""},
		{`{"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"one_p"}}`, ""},
		{`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"none://x"}}`, ""},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_a","task":{}}}`, "tools/call"},
		{`{"jsonrpc":"2.0","id":2,"method":"tasks/list"}`, "tasks/list"},
		{`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"error"}}`, "logging/setLevel"},
		{`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"none://x"}}`, "resources/subscribe"},
		{`{"jsonrpc":"2.0","id":2,"method":"unknown/method"}`, "unknown/method"},
		{strings.Replace(initializeFrame, `"id":1`, `"id":2`, 1), "initialize"},
		{`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, "notifications/roots/list_changed"},
	} {
		atHome := a.do("POST", "/mcp", c.frame, session...)
		if relayed := relay.take(); relayed != nil {
			t.Errorf("%s: the home passed on %v", c.frame, relayed)
		}
		elsewhere := b.do("POST", "/mcp", c.frame, session...)
		if elsewhere != atHome {
			t.Errorf("%s: the other node answered %+v, the home %+v", c.frame, elsewhere, atHome)
		}
		var want []string
		if c.relayed != "" {
			want = []string{c.relayed}
		}
		if relayed := relay.take(); !slices.Equal(relayed, want) {
			t.Errorf("%s: passed on %q, want %q", c.frame, relayed, want)
		}
	}
	if got := b.do("DELETE", "/mcp", "", session...); got.status != 204 {
		t.Errorf("DELETE at the other node: %+v", got)
	}
	if got := a.do("POST", "/mcp", pingFrame, session...); got.status != 404 {
		t.Errorf("at home, after DELETE: %+v", got)
	}
}

// A guest begins with the first requests of its session, however many arrive at once.
func TestGuestStartsOnce(t *testing.T) {
	a, b, _ := startCluster(t, echoServers, nil)
	id := a.open("/mcp")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if got := b.do("POST", "/mcp", pingFrame, "Mcp-Session-Id", id); got.status != 200 {
				t.Errorf("%+v", got)
			}
		})
	}
	all.Wait()
	s, err := b.gateway.Status(t.Context())
	if err != nil || len(s.Sessions) != 1 || s.Sessions[0].ID != id[:8] || s.Sessions[0].Client != "t 1" || s.Sessions[0].Protocol != protocol.LatestLegacy {
		t.Errorf("%+v, %v", s.Sessions, err)
	}
}

// On every node, a session is invisible to other principals: an id stolen from one client has the answer of an unknown id,
// also where no guest runs yet.
func TestAttack101StolenSessionAtAnotherNode(t *testing.T) {
	a, b, _ := startCluster(t, echoServers, withAuth)
	for _, w := range []*httpHarness{a, b} {
		w.people.get("owner")
		w.people.get("thief")
	}
	id := a.openAs("owner", "/mcp")
	other := a.openAs("owner", "/mcp")
	unknown := b.do("POST", "/mcp", pingFrame, asUser("thief", "Mcp-Session-Id", unknownSessionID)...)
	for _, state := range []string{"before the guest", "with the guest"} {
		if got := b.do("POST", "/mcp", pingFrame, asUser("thief", "Mcp-Session-Id", id)...); got != unknown || got.status != 404 {
			t.Errorf("%s: %+v, an unknown id has %+v", state, got, unknown)
		}
		for i := range len(id) {
			changed := []byte(id)
			if changed[i] = 'A'; id[i] == 'A' {
				changed[i] = 'B'
			}
			if got := b.do("POST", "/mcp", pingFrame, asUser("owner", "Mcp-Session-Id", string(changed))...); got.status != 404 {
				t.Fatalf("%s, character %d changed: %+v", state, i, got)
			}
		}
		if got := b.do("POST", "/mcp", pingFrame, asUser("owner", "Mcp-Session-Id", id)...); got.status != 200 {
			t.Fatalf("%s: the owner gets %+v", state, got)
		}
	}
	if got := b.do("DELETE", "/mcp", "", asUser("thief", "Mcp-Session-Id", other)...); got.status != 404 {
		t.Errorf("DELETE: %+v", got)
	}
}

// Forged and stolen session ids are refused where they arrive, with the answer of an unknown id: nothing is passed on to
// another node.
func TestAttack101ForgedSessionIsNotPassedOn(t *testing.T) {
	a, b, relay := startCluster(t, echoServers, withAuth)
	for _, w := range []*httpHarness{a, b} {
		w.people.get("owner")
		w.people.get("thief")
	}
	id := a.openAs("owner", "/mcp")
	forged := id[:len(id)-8] + "AAAAAAAA"
	home, _ := cluster.HomeOf(id)
	relay.take()
	for _, c := range []struct{ what, method, body, lastEvent string }{
		{"request", "POST", `{"jsonrpc":"2.0","id":2,"method":"tasks/list"}`, ""},
		{"notification", "POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""},
		{"batch", "POST", "[" + pingFrame + "," + pingFrame + "]", ""},
		{"answer", "POST", `{"jsonrpc":"2.0","id":"` + home + `.1","result":{}}`, ""},
		{"end", "DELETE", "", ""},
		{"stream", "GET", "", ""},
		{"resumed stream of a call", "GET", "", home + "~x-p1-1"},
	} {
		send := func(who, session string) reply {
			headers := asUser(who, "Mcp-Session-Id", session, "Last-Event-ID", c.lastEvent)
			if c.method == "GET" {
				headers = append(headers, "Accept", "text/event-stream")
			}
			return b.do(c.method, "/mcp", c.body, headers...)
		}
		unknown := send("owner", unknownSessionID)
		for _, bad := range []struct{ who, session string }{{"owner", forged}, {"thief", id}, {"thief", forged}} {
			if got := send(bad.who, bad.session); got != unknown || got.status != 404 {
				t.Errorf("%s of %s with %.8s: %+v, an unknown id has %+v", c.what, bad.who, bad.session, got, unknown)
			}
		}
	}
	if relayed := relay.take(); relayed != nil {
		t.Errorf("passed on: %v", relayed)
	}
	denied := 0
	for _, d := range b.gateway.Metrics().Denials() {
		if d.Who == "thief" {
			denied += int(d.Times)
		}
	}
	if denied != 7 {
		t.Errorf("%d requests of the thief are recorded as refused, want 7", denied)
	}
}

// When a secret is removed, the sessions whose ids it has sealed end on all nodes, also at home and where a guest runs.
func TestSessionsOfARemovedSecret(t *testing.T) {
	a, b, _ := startCluster(t, echoServers, nil)
	secrets, old, next := a.gateway.cluster.Secrets, cluster.NewSecret(), cluster.NewSecret()
	replace := func(values ...string) {
		if err := secrets.Replace(values); err != nil {
			t.Fatal(err)
		}
	}
	check := func(step, id string, want int) {
		t.Helper()
		for name, w := range map[string]*httpHarness{"a": a, "b": b} {
			if got := w.do("POST", "/mcp", pingFrame, "Mcp-Session-Id", id); got.status != want {
				t.Errorf("%s: node %s has status %d, want %d", step, name, got.status, want)
			}
		}
	}
	replace(old)
	first := a.open("/mcp")
	check("opened", first, 200)
	replace(next, old)
	second := a.open("/mcp")
	check("both secrets", first, 200)
	check("both secrets", second, 200)
	replace(next)
	check("the old secret is removed", first, 404)
	check("the old secret is removed", second, 200)
}

// A client's answer reaches the node that has asked, whichever node receives it.
func TestAnswerAtAnotherNode(t *testing.T) {
	servers := func() map[string]*actortest.Server {
		calls := make(chan []byte, 1)
		server := serverSending("")
		server.Handle = func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			calls <- bytes.Clone(id)
			_ = p.Send([]byte(`{"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{"message":"name?","requestedSchema":{"type":"object"}}}`))
		}
		server.HandleOther = func(p *pipe.Peer, o upstream.Outgoing) {
			if bytes.Contains(o.Frame, []byte(`"result"`)) {
				_ = p.Send(protocol.AppendResult(nil, <-calls, []byte(`{"content":[]}`)))
			}
		}
		return map[string]*actortest.Server{"one": server}
	}
	a, b, relay := startCluster(t, servers, nil)
	opened := a.do("POST", "/mcp", strings.Replace(initializeFrame, `"capabilities":{}`, `"capabilities":`+allCapabilities, 1))
	session := []string{"Mcp-Session-Id", opened.session}
	for _, nodes := range []struct{ calls, answers *httpHarness }{{b, a}, {b, b}, {a, b}, {a, a}} {
		relay.take()
		events, _ := nodes.calls.post("/mcp", `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"one_ask"}}`, session...)
		question := ""
		for question == "" {
			if data := events.data(); strings.Contains(data, "elicitation/create") {
				question = data
			}
		}
		id, _, _ := strings.Cut(strings.TrimPrefix(question, `{"jsonrpc":"2.0","id":`), ",")
		if got := nodes.answers.do("POST", "/mcp", `{"jsonrpc":"2.0","id":`+id+`,"result":{"action":"accept","content":{}}}`, session...); got.status != 202 {
			t.Fatalf("answer: %+v", got)
		}
		if got := events.data(); !strings.Contains(got, `"id":9,"result"`) {
			t.Errorf("the call ended with %s", got)
		}
		if passed := len(relay.take()) > 0; passed != (nodes.calls != nodes.answers) {
			t.Errorf("answer passed on: %v", passed)
		}
		events.close()
	}
}

// A node answers a relayed request only if it is for this node; nothing is relayed twice.
func TestMisdirectedRequest(t *testing.T) {
	a, b, relay := startCluster(t, echoServers, nil)
	id := a.open("/mcp")
	relay.mu.Lock()
	for incarnation := range relay.nodes {
		relay.nodes[incarnation] = b.gateway
	}
	relay.mu.Unlock()
	for _, c := range []struct{ method, body string }{
		{"POST", `{"jsonrpc":"2.0","id":2,"method":"tasks/list"}`}, {"DELETE", ""}, {"GET", ""},
	} {
		headers := []string{"Mcp-Session-Id", id}
		if c.method == "GET" {
			headers = append(headers, "Accept", "text/event-stream")
		}
		if got := b.do(c.method, "/mcp", c.body, headers...); got.status != 421 {
			t.Errorf("%s: %+v", c.method, got)
		}
	}
	if relayed := relay.take(); len(relayed) != 3 {
		t.Errorf("relayed %q, want three requests once each", relayed)
	}
}

// A client whose name does not fit in a session id gets no session. The error says why.
func TestSessionThatDoesNotFitInItsID(t *testing.T) {
	a, _, _ := startCluster(t, echoServers, withAuth)
	name := strings.Repeat("n", 300)
	a.people.get(name)
	if got := a.do("POST", "/mcp", initializeFrame, asUser(name)...); got.status != 400 || got.session != "" || !strings.Contains(got.body, cluster.ErrLongFact.Error()) {
		t.Errorf("%+v", got)
	}
	if s, err := a.gateway.Status(t.Context()); err != nil || len(s.Sessions) != 0 {
		t.Errorf("sessions %+v, %v", s.Sessions, err)
	}
}

// Where a guest finds no room, the session's home serves the request.
func TestGuestWithoutRoom(t *testing.T) {
	sessions := 10 // at the first node
	a, b, relay := startCluster(t, echoServers, func(c *config.Config) { c.Limits.MaxSessions, sessions = sessions, 0 })
	session := []string{"Mcp-Session-Id", a.open("/mcp")}
	if got := b.do("POST", "/mcp", pingFrame, session...); got.status != 200 {
		t.Errorf("%+v", got)
	}
	if relayed := relay.take(); !slices.Equal(relayed, []string{"ping"}) {
		t.Errorf("relayed %q", relayed)
	}
}

package actors

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/pipe"
)

// startMember starts a gateway without servers, as a node that finds the others over the simulated network.
func startMember(t *testing.T, net *actortest.Network, node string, change func(*Cluster)) *Gateway {
	t.Helper()
	secrets, err := cluster.NewSecrets([]string{strings.Repeat("x", cluster.MinSecret)})
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{Name: "prod", Node: node, Address: node + ":8731", Secrets: secrets, Members: cluster.NewMembers(cluster.NewIncarnation()), Bus: net.Bus(node)}
	if change != nil {
		change(c)
	}
	cfg := config.Default()
	g, err := Start(&cfg, Options{Version: "1.2.3", Log: slog.New(slog.DiscardHandler), Cluster: c})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func stopMember(t *testing.T, g *Gateway) {
	t.Helper()
	if err := g.Stop(t.Context(), time.Second); err != nil {
		t.Error(err)
	}
}

// nodesOf returns the nodes in the status as NAME:STATE, the node itself in brackets.
func nodesOf(t *testing.T, g *Gateway) (text string, s *status.Snapshot) {
	t.Helper()
	s, err := g.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range s.Nodes {
		one := n.Name + ":" + string(n.State)
		if n.Self {
			one = "[" + one + "]"
		}
		text += one + " "
	}
	return strings.TrimSpace(text), s
}

// Gateways find each other, give up the one that they cannot reach, and accept it again under a new incarnation. The
// status and the metrics say so, and a node that stops is gone at once.
func TestMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := actortest.NewNetwork(ErrNoNode)
		a, b, c := startMember(t, net, "a", nil), startMember(t, net, "b", nil), startMember(t, net, "c", nil)
		expect := func(g *Gateway, want string) *status.Snapshot {
			t.Helper()
			synctest.Wait()
			got, s := nodesOf(t, g)
			if got != want {
				t.Errorf("nodes %q, want %q", got, want)
			}
			return s
		}
		time.Sleep(100 * time.Millisecond)
		if s := expect(a, "[a:joining] b:joining c:joining"); s.Ready {
			t.Error("ready while the node joins")
		}
		time.Sleep(2 * time.Second)
		s := expect(a, "[a:member] b:member c:member")
		if n := s.Nodes[1]; !s.Ready || n.Address != "b:8731" || n.Version != "1.2.3" || n.Incarnation != b.cluster.Members.Self() || s.Now.Sub(n.LastBeat) > 2*time.Second {
			t.Errorf("ready %v, %+v", s.Ready, n)
		}
		var page bytes.Buffer
		if err := status.WriteSnapshot(&page, s); err != nil || !strings.Contains(page.String(), "\ngoblin_cluster_members 3\n") {
			t.Errorf("%v: %s", err, page.String())
		}
		was := c.cluster.Members.Self()
		net.Part("c", true)
		a.NodeRefused(was)
		expect(a, "[a:member] b:member c:gone")
		time.Sleep(1200 * time.Millisecond)
		expect(b, "a:member [b:member] c:gone")
		expect(c, "a:gone b:gone [c:member]")
		net.Part("c", false)
		time.Sleep(2 * time.Second)
		expect(a, "[a:member] b:member c:member")
		expect(c, "a:member b:member [c:member]")
		node, address, ok := a.cluster.Members.Resolve(was)
		if now := c.cluster.Members.Self(); now == was || !c.cluster.Members.Mine(was) || node != "c" || address != "c:8731" || !ok {
			t.Errorf("c was %s and is %s; a resolves it to %s at %s", was, now, node, address)
		}
		stopMember(t, b)
		expect(a, "[a:member] c:member")
		stopMember(t, a)
		stopMember(t, c)
		if n := net.Subscriptions(); n > 0 {
			t.Errorf("%d subscriptions are left", n)
		}
	})
}

// A key that one node's file has lost is revoked at all nodes within a second, also at one that joins later.
func TestRevokedHolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := actortest.NewNetwork(ErrNoNode)
		var mu sync.Mutex
		revoked := map[string]map[string]bool{}
		record := func(c *Cluster) {
			c.Revoked = func(holders map[string]bool) {
				mu.Lock()
				defer mu.Unlock()
				revoked[c.Node] = holders
			}
		}
		expect := func(want bool, nodes ...string) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			for _, node := range nodes {
				if revoked[node]["key:x"] != want {
					t.Errorf("revoked at %s: %v", node, revoked[node])
				}
			}
		}
		a, b := startMember(t, net, "a", record), startMember(t, net, "b", record)
		time.Sleep(2 * time.Second)
		a.RevokeHolders([]string{"key:x"})
		synctest.Wait()
		expect(true, "a", "b")
		c := startMember(t, net, "c", record)
		time.Sleep(300 * time.Millisecond)
		if _, s := nodesOf(t, c); !s.Ready {
			t.Error("a node that has joined is not ready")
		}
		expect(true, "c")
		b.RestoreHolders([]string{"key:x"})
		synctest.Wait()
		expect(false, "a", "b", "c")
		for _, g := range []*Gateway{a, b, c} {
			stopMember(t, g)
		}
	})
}

// A gateway that runs alone has no membership actor, and no nodes in its status.
func TestAloneHasNoMembers(t *testing.T) {
	w := startNode(t, nil, echoServers(), nil)
	s, err := w.gateway.Status(t.Context())
	if err != nil || len(s.Nodes) > 0 {
		t.Errorf("%v, %v", s.Nodes, err)
	}
	for _, actor := range s.Actors {
		if strings.Contains(actor.Name, "membership") {
			t.Errorf("actor %s", actor.Name)
		}
	}
	w.gateway.RevokeHolders([]string{"key:x"})
	w.gateway.NodeRefused("abcdefg2")
}

// renewed makes a node continue under a new incarnation, under which the other nodes reach it, too.
func renewed(w *httpHarness, relay *testRelay, incarnation string) {
	m := w.gateway.cluster.Members
	m.Set(cluster.NewView(incarnation, append([]string{m.Self()}, m.View().Former...), nil))
	relay.mu.Lock()
	relay.nodes[incarnation] = w.gateway
	relay.mu.Unlock()
}

// A process recognizes what names one of its former incarnations: its sessions, its questions and the events of its calls.
// What begins afterward names the new incarnation.
func TestNewIncarnation(t *testing.T) {
	asked := make(chan []byte, 1)
	servers := func() map[string]*actortest.Server {
		server := serverSending("")
		server.Handle = func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			asked <- bytes.Clone(id)
			_ = p.Send([]byte(`{"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{"message":"name?","requestedSchema":{"type":"object"}}}`))
		}
		server.HandleOther = func(p *pipe.Peer, o upstream.Outgoing) {
			if bytes.Contains(o.Frame, []byte(`"result"`)) {
				_ = p.Send(protocol.AppendResult(nil, <-asked, []byte(`{"content":[]}`)))
			}
		}
		return map[string]*actortest.Server{"one": server}
	}
	a, b, relay := startCluster(t, servers, nil)
	was := a.gateway.cluster.Members.Self()
	opened := a.do("POST", "/mcp", strings.Replace(initializeFrame, `"capabilities":{}`, `"capabilities":`+allCapabilities, 1))
	session := []string{"Mcp-Session-Id", opened.session}
	events, _ := a.post("/mcp", `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"one_ask"}}`, session...)
	question := ""
	for question == "" {
		if data := events.data(); strings.Contains(data, "elicitation/create") {
			question = data
		}
	}
	renewed(a, relay, "zzzzzzz2")
	relay.take()
	id, _, _ := strings.Cut(strings.TrimPrefix(question, `{"jsonrpc":"2.0","id":`), ",")
	if !strings.HasPrefix(id, `"`+was+".") {
		t.Fatalf("question %s", question)
	}
	if got := b.do("POST", "/mcp", `{"jsonrpc":"2.0","id":`+id+`,"result":{"action":"accept","content":{}}}`, session...); got.status != 202 {
		t.Errorf("answer at the other node: %+v", got)
	}
	if got := events.data(); !strings.Contains(got, `"id":9,"result"`) {
		t.Errorf("the call ended with %s", got)
	}
	if passed := relay.take(); len(passed) != 1 {
		t.Errorf("relayed %q", passed)
	}
	if got := a.do("POST", "/mcp", `{"jsonrpc":"2.0","id":3,"method":"tasks/list"}`, session...); got.status != 200 || relay.take() != nil {
		t.Errorf("a session of the former incarnation: %+v", got)
	}
	if got := a.do("DELETE", "/mcp", "", session...); got.status != 204 || relay.take() != nil {
		t.Errorf("the end of the session: %+v", got)
	}
	later := a.open("/mcp")
	if of, _ := cluster.HomeOf(later); of != "zzzzzzz2" {
		t.Errorf("a new session names %s", of)
	}
	if got := a.do("GET", "/mcp", "", append(session, "Last-Event-ID", was+"~1~x-p1-1", "Accept", "text/event-stream")...); relay.take() != nil {
		t.Errorf("an event of the former incarnation is looked for elsewhere: %+v", got)
	}
}

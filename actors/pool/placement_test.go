package pool

import (
	"fmt"
	"strings"
	"testing"

	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// nodes returns the members as node a sees them.
func nodes(names ...string) *cluster.View {
	var members []cluster.Member
	for _, name := range names {
		members = append(members, cluster.Member{Incarnation: incarnation(name), Node: name})
	}
	return cluster.NewView(incarnation("a"), nil, members)
}

func incarnation(node string) string { return "inc" + strings.Repeat(node, 5) }

func principal(name string) *message.Tenant {
	return &message.Tenant{Key: "principal " + name, Who: name, Isolation: "principal"}
}

// placed returns a server whose connections of principals are spread over the nodes.
func placed(t *testing.T) *world {
	w := newWorld(t, config.Server{Isolation: "principal", Run: config.RunEach, MaxBackends: 9, Queue: wide}, 1)
	w.s.tenants.nodes = nodes("a", "b", "c")
	w.phase(0, message.Ready)
	return w
}

// Principals are spread over all nodes. Without a cluster, and for what each node has by itself, all connections are here.
func TestPlaceOfPrincipals(t *testing.T) {
	w := placed(t)
	count := map[string]int{}
	for i := range 300 {
		count[w.s.placeOf(principal(fmt.Sprint(i)))]++
	}
	for _, node := range []string{"", "b", "c"} {
		if count[node] < 50 {
			t.Errorf("node %q has %d of 300 principals", node, count[node])
		}
	}
	there := principal(moved(w.s))
	for name, change := range map[string]func(s *state, of *message.Tenant){
		"no cluster":            func(s *state, _ *message.Tenant) { s.tenants.nodes = nil },
		"no members":            func(s *state, _ *message.Tenant) { s.tenants.nodes = nodes() },
		"a server of one node":  func(s *state, _ *message.Tenant) { s.server.Run = "a" },
		"shared":                func(_ *state, of *message.Tenant) { of.Isolation = "shared" },
		"with clients' headers": func(_ *state, of *message.Tenant) { of.Headers = map[string]string{"X": "y"} },
		"with logins":           func(s *state, _ *message.Tenant) { s.server.URLs, s.server.Auth.Type = []string{"http://x"}, "oauth" },
	} {
		w, of := placed(t), *there
		if change(w.s, &of); w.s.placeOf(&of) != "" {
			t.Errorf("%s: on node %s", name, w.s.placeOf(&of))
		}
	}
}

// moved returns a principal whose connections are on another node.
func moved(s *state) string {
	for i := 0; ; i++ {
		if name := fmt.Sprint(i); s.placeOf(principal(name)) != "" {
			return name
		}
	}
}

// A connection to another node has nothing of the server's settings here. It ends when the members change so that it belongs elsewhere.
func TestConnectionOfPlacedPrincipal(t *testing.T) {
	w := placed(t)
	of := principal(moved(w.s))
	r := &message.Request{Server: "fake", Caller: &message.Caller{Principal: of.Who}, Tenant: of}
	w.step(message.Dispatch{Call: message.CallRef{Seq: 1}, Request: r})
	conn := w.s.replicas.connections[len(w.s.replicas.connections)-1]
	node := w.s.placeOf(of)
	if conn.tenant == nil || conn.node != node {
		t.Fatalf("connection %+v, want one on %s", conn, node)
	}
	entry := entryOf(conn, &config.Server{Name: "fake", Command: "x", Headers: map[string]string{"Authorization": "secret"}})
	if entry.Hop != node || entry.Command != "" || len(entry.Headers) != 1 || entry.Headers[protocol.HeaderNodeHolder] != of.Who || w.s.settingsOf(conn).Hop != node {
		t.Errorf("entry %+v", entry)
	}
	w.step(message.NodesChanged{View: nodes("a", "b", "c")})
	if conn.leaving {
		t.Error("the connection ended, although its node is a member")
	}
	w.step(message.NodesChanged{View: nodes("a")})
	if !conn.leaving {
		t.Error("the connection did not end, although its node is gone")
	}
}

// A node does not send on what another node has sent.
func TestMisplacedPrincipal(t *testing.T) {
	w := placed(t)
	of := principal(moved(w.s))
	of.Hop = true
	w.step(message.Dispatch{Call: message.CallRef{Seq: 1}, Request: &message.Request{Server: "fake", Caller: &message.Caller{Principal: of.Who, Hop: true}, Tenant: of}})
	if f := w.fault(1, protocol.ServerUnavailable); f == nil || !f.Retryable {
		t.Errorf("fault %+v", f)
	}
	for _, e := range step(w.s, w.now, message.SubscribeURI{Seq: 2, URI: "x", Own: &message.ConnectionOwner{Tenant: of}}, nil) {
		if m, is := e.Msg.(message.SubscribeURIResult); !is || m.Fault == nil {
			t.Errorf("subscription: %+v", e.Msg)
		}
	}
}

// The connections of a session are at its home. A client without sessions has them on one node.
func TestPlaceOfSessions(t *testing.T) {
	secrets, err := cluster.NewSecrets([]string{cluster.NewSecret()})
	if err != nil {
		t.Fatal(err)
	}
	w := placed(t)
	for node, want := range map[string]string{"a": "", "b": "b", "c": "c"} {
		id, err := secrets.SealSession(incarnation(node), &cluster.SessionFacts{})
		if err != nil {
			t.Fatal(err)
		}
		if got := w.s.placeOf(&message.Tenant{Key: "session " + id, Client: id, Isolation: "session"}); got != want {
			t.Errorf("a session of node %s is on %q", node, got)
		}
	}
	count := map[string]int{}
	for i := range 300 {
		client := fmt.Sprintf(`192.0.2.%d{"name":"x"}`, i)
		of := &message.Tenant{Key: "session " + client, Client: client, Isolation: "session"}
		conn := &connection{tenant: of, node: w.s.placeOf(of)}
		count[conn.node]++
		entry := entryOf(conn, &config.Server{Name: "fake"})
		if key, _ := protocol.DecodeHeaderValue(entry.Headers[protocol.HeaderNodeKey]); (key == client) != (conn.node != "") {
			t.Errorf("client %s on %q is called %q", client, conn.node, key)
		}
	}
	for _, node := range []string{"", "b", "c"} {
		if count[node] < 50 {
			t.Errorf("node %q has %d of 300 clients", node, count[node])
		}
	}
}

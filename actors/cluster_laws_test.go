package actors

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/config"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/upstream"
	"goblin-actor/tests/sim/pipeclient"
)

// noRelay refuses everything that a node passes on: the laws below look at each node alone.
type noRelay struct{}

func (noRelay) Post(_ string, x *downstream.Exchange, _ cluster.Retry) {
	message.RefuseFault(x, 502, message.SessionMoves)
}

func (noRelay) Open(_ string, s *downstream.EventStream, _ cluster.Retry) { s.Refuse(502, nil, 0) }

func (noRelay) Delete(_ string, x *downstream.Exchange, _ cluster.Retry) {
	message.RefuseFault(x, 502, message.SessionMoves)
}

// lawNodes are the nodes a, b and c, which find each other by a network that the test can part.
type lawNodes struct {
	t     *testing.T
	net   *actortest.Network
	nodes map[string]*Gateway
}

func startLawNodes(t *testing.T) *lawNodes {
	l := &lawNodes{t, actortest.NewNetwork(ErrNoNode), map[string]*Gateway{}}
	secrets, err := cluster.NewSecrets([]string{strings.Repeat("x", cluster.MinSecret)})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		server := config.DefaultServer()
		server.Name, server.Written, server.Command = "one", "one", "fake"
		cfg := config.Default()
		cfg.MetaTools, cfg.Servers = "false", []config.Server{server}
		fake := echoServers()["one"]
		c := &Cluster{Name: "prod", Node: name, Address: name + ":8731", Secrets: secrets, Members: cluster.NewMembers(cluster.NewIncarnation()), Bus: l.net.Bus(name), Relay: noRelay{}}
		g, err := Start(&cfg, Options{Version: "1", Log: slog.New(slog.DiscardHandler), Cluster: c, StatelessSessions: 1,
			Open: func(config.Server, int) (func(upstream.Sink) upstream.Link, string) { return fake.Open, "stdio" }})
		if err != nil {
			t.Fatal(err)
		}
		l.nodes[name] = g
	}
	l.wait(3 * time.Second)
	for _, g := range l.nodes { // a node reads a key from a file first
		for range 100 {
			if s, err := g.Status(t.Context()); g.hasStarted() && err == nil && s.Ready {
				break
			}
			l.wait(time.Second)
		}
	}
	return l
}

func (*lawNodes) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (l *lawNodes) stop() {
	for _, g := range l.nodes {
		stopMember(l.t, g)
	}
}

// post sends a message to a handler of a node, and returns the response.
func (l *lawNodes) post(g *Gateway, h downstream.Handler, id, frame string) (pipeclient.Seen, string) {
	l.t.Helper()
	client := &pipeclient.Client{Handler: h, Budget: g.Budget()}
	x, refused := client.Post([]byte(frame), downstream.Origin{Path: "/mcp", Remote: "127.0.0.1:40000", SessionID: id})
	if refused != nil {
		l.t.Fatalf("refused: %d %s", refused.Status, refused.Frame)
	}
	for range 100 {
		synctest.Wait()
		if seen, ok := x.Next(); ok {
			return seen, seen.Session
		}
		time.Sleep(10 * time.Millisecond)
	}
	l.t.Fatalf("%s got no response", frame)
	return pipeclient.Seen{}, ""
}

// homes returns the names of the nodes that serve a session as its home, if other nodes pass on to them what only the home serves.
func (l *lawNodes) homes(id string, among string) (homes string) {
	l.t.Helper()
	for _, name := range strings.Split(among, "") {
		g := l.nodes[name]
		if seen, _ := l.post(g, g.Relayed(), id, listTasksFrame); seen.Status == 200 {
			homes += name
		} else if seen.Status != 421 {
			l.t.Errorf("node %s answers %d", name, seen.Status)
		}
	}
	return homes
}

// open opens a session at a node and subscribes to its resource.
func (l *lawNodes) open(name string) (id string) {
	l.t.Helper()
	g := l.nodes[name]
	opened, id := l.post(g, g.Front(), "", initializeFrame)
	if id == "" {
		l.t.Fatalf("initialize at %s, started %v, leaving %v: %d %s", name, g.hasStarted(), g.leaving.Load(), opened.Status, opened.Frame)
	}
	if seen, _ := l.post(g, g.Front(), id, `{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"resource://one/r"}}`); !strings.Contains(string(seen.Frame), `"result":{}`) {
		l.t.Fatalf("subscribe: %d %s", seen.Status, seen.Frame)
	}
	return id
}

// told opens a stream of a session at a node and returns the messages that the client receives on it.
func (l *lawNodes) told(g *Gateway, id string) (all string) {
	l.t.Helper()
	client := &pipeclient.Client{Handler: g.Relayed(), Budget: g.Budget()}
	st := client.Open(downstream.Origin{Path: "/mcp", Remote: "127.0.0.1:40000", SessionID: id})
	l.wait(time.Second)
	for {
		seen, ok := st.Next()
		if !ok {
			break
		}
		all += string(seen.Frame) + "\n"
	}
	st.Leave()
	synctest.Wait()
	return all
}

// At rest, each session has exactly one home among the nodes that see each other, whatever was parted before. After the end of
// a node, the next home of each of its sessions has the session's note: its first stream tells the client once of each resource.
func TestLawsOfHomes(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testLawsOfHomes(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func testLawsOfHomes(t *testing.T, rng *rand.Rand) {
	l := startLawNodes(t)
	defer l.stop()
	opened := map[string]string{}
	check := func(when, among string) {
		t.Helper()
		for id, at := range opened {
			if homes := l.homes(id, among); len(homes) != 1 {
				t.Errorf("%s: a session that was opened at %s has the homes %q among %s", when, at, homes, among)
			}
		}
	}
	for range 9 {
		name := string("abc"[rng.IntN(3)])
		opened[l.open(name)] = name
	}
	check("at first", "abc")
	for round := range 3 {
		name := string("abc"[rng.IntN(3)])
		others := strings.ReplaceAll("abc", name, "")
		l.net.Part(name, true)
		l.wait(3 * time.Second)
		check(fmt.Sprintf("round %d: %s is parted", round, name), others)
		l.net.Part(name, false)
		l.wait(3 * time.Second)
		check(fmt.Sprintf("round %d: %s is back", round, name), "abc")
	}
	dies := string("abc"[rng.IntN(3)])
	homeOf := map[string]string{}
	for id := range opened {
		homeOf[id] = l.homes(id, "abc")
	}
	for range 3 { // the heir must have the note before the subscription is answered
		homeOf[l.open(dies)] = dies
	}
	l.net.Part(dies, true)
	l.wait(3 * time.Second)
	others := strings.ReplaceAll("abc", dies, "")
	check(dies+" has died", others)
	for id, was := range homeOf {
		next := l.homes(id, others)
		if len(next) != 1 {
			t.Errorf("a session has the homes %q", next)
			continue
		}
		if was != dies {
			continue
		}
		if told := l.told(l.nodes[next], id); strings.Count(told, "resources/updated") != 1 || !strings.Contains(told, "tools/list_changed") {
			t.Errorf("the home %s of a session has died; its next home %s tells the client %q", was, next, told)
		}
	}
}

package actors

import (
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/cluster"
)

// agree gives nodes a view with these members, which are "a" and "b" with the incarnations of the nodes.
func agree(members string, nodes ...*httpHarness) {
	for _, w := range nodes {
		list := []cluster.Member{}
		for _, of := range nodes {
			if c := of.gateway.cluster; strings.Contains(members, c.Node) {
				list = append(list, cluster.Member{Incarnation: c.Members.Self(), Node: c.Node, Address: c.Node + ":1"})
			}
		}
		w.gateway.setMembers(cluster.NewView(w.gateway.cluster.Members.Self(), nil, list))
	}
}

const listTasksFrame = `{"jsonrpc":"2.0","id":2,"method":"tasks/list"}`

// When the home of a session is gone, the other node becomes its home, with or without a guest of the session there. Its first
// stream is notified of all lists. When the home is back, the other node passes requests on again and closes its streams.
func TestHomeMoves(t *testing.T) {
	a, b, relay := startCluster(t, echoServers, nil)
	agree("ab", a, b)
	for _, guest := range []bool{false, true} {
		id := a.open("/mcp")
		session := []string{"Mcp-Session-Id", id}
		if guest {
			b.do("POST", "/mcp", pingFrame, session...)
		}
		relay.take()
		if got := b.do("POST", "/mcp", listTasksFrame, session...); got.status != 200 || !slices.Equal(relay.take(), []string{"tasks/list"}) {
			t.Errorf("guest %v, with its home: %+v", guest, got)
		}
		agree("b", a, b)
		if got := b.do("POST", "/mcp", listTasksFrame, session...); got.status != 200 || relay.take() != nil {
			t.Errorf("guest %v, without its home: %+v", guest, got)
		}
		stream, response := b.listen("/mcp", session...)
		if response.StatusCode != 200 || relay.take() != nil {
			t.Fatalf("guest %v: stream: %d", guest, response.StatusCode)
		}
		for _, want := range []string{"tools", "prompts", "resources"} {
			if got := stream.data(); !strings.Contains(got, want+"/list_changed") {
				t.Errorf("guest %v: got %s, want that the %s have changed", guest, got, want)
			}
		}
		if got := a.do("POST", "/mcp", listTasksFrame, session...); got.status != 200 || !slices.Equal(relay.take(), []string{"tasks/list"}) {
			t.Errorf("guest %v, at the former home: %+v", guest, got)
		}
		agree("ab", a, b)
		for e := stream.next(); e.ok; e = stream.next() {
		}
		if got := b.do("POST", "/mcp", listTasksFrame, session...); got.status != 200 || !slices.Equal(relay.take(), []string{"tasks/list"}) {
			t.Errorf("guest %v, its home is back: %+v", guest, got)
		}
	}
}

// A session that no client has ended is ended at its next home. A session that cannot move has ended with its home.
func TestEndAtTheNextHome(t *testing.T) {
	a, b, _ := startCluster(t, echoServers, nil)
	agree("ab", a, b)
	id := a.open("/mcp")
	big := a.do("POST", "/mcp", strings.Replace(initializeFrame, `"capabilities":{}`, `"capabilities":{"experimental":{"x":{"y":"`+strings.Repeat("z", cluster.MaxDeclared)+`"}}}`, 1))
	agree("b", a, b)
	if got := b.do("DELETE", "/mcp", "", "Mcp-Session-Id", id); got.status != 204 {
		t.Errorf("%+v", got)
	}
	relayed := elsewhere{Gateway: b.gateway}
	if home, _ := cluster.HomeOf(big.session); relayed.home(big.session) != home {
		t.Error("a session whose capabilities are not in its id has moved")
	}
}

// Guests that become homes at once, while requests for the home arrive, answer each of them.
func TestHomeMovesUnderLoad(t *testing.T) {
	a, b, _ := startCluster(t, echoServers, nil)
	agree("ab", a, b)
	session := []string{"Mcp-Session-Id", a.open("/mcp")}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 40 {
			agree([]string{"ab", "b"}[i%2], a, b)
			time.Sleep(time.Millisecond)
		}
	}()
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
		}
		for _, frame := range []string{pingFrame, listTasksFrame, `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"error"}}`} {
			for _, w := range []*httpHarness{a, b} {
				if got := w.do("POST", "/mcp", frame, session...); got.status != 200 && got.status != 421 {
					t.Fatalf("%s: %+v", frame, got)
				}
			}
		}
	}
}

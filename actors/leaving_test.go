package actors

import (
	"slices"
	"strings"
	"testing"

	"goblin-actor/actors/message"
)

// A node that stops does not refuse requests that any node can serve, even if they arrive after its actors have stopped accepting them:
// the other node serves them. A request that was passed on to such a node is returned to the first one. Without another node, it is
// refused.
func TestStoppingNodePassesOn(t *testing.T) {
	a, b, relay := startCluster(t, echoServers, nil)
	agree("ab", a, b)
	send := func(w *httpHarness, method, rest string) reply {
		return w.do("POST", "/mcp", modern(3, method, "{}", rest), modernHeaders(method, rest)...)
	}
	for _, ended := range []bool{false, true} {
		if ended {
			if err := b.gateway.Stop(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			b.gateway.leaving.Store(false) // as if Stop had not set it yet
		} else {
			done := make(chan struct{})
			b.gateway.self.Tell(message.DrainAll{Done: done})
			<-done
			a.gateway.leaving.Store(true)
			if got := send(a, "tools/list", ""); got.status != 421 { // the relay of this test does not decide again
				t.Errorf("a request that another node has passed on: %+v", got)
			}
			a.gateway.leaving.Store(false)
		}
		for _, c := range []struct{ method, rest, want string }{
			{"tools/list", "", "one_a"}, {"tools/call", `,"name":"one_a","arguments":{}`, "content"}, {"server/discover", "", "serverInfo"},
		} {
			relay.take()
			if got := send(b, c.method, c.rest); got.status != 200 || !strings.Contains(got.body, c.want) {
				t.Errorf("ended %v: %s: %+v", ended, c.method, got)
			}
			if relayed := relay.take(); !slices.Equal(relayed, []string{c.method}) {
				t.Errorf("ended %v: passed on %q", ended, relayed)
			}
		}
		if got := b.do("POST", "/mcp", initializeFrame); got.status != 200 || got.session == "" {
			t.Errorf("ended %v: initialize: %+v", ended, got)
		}
		stream, resp := b.post("/mcp", modern(9, "subscriptions/listen", "{}", `,"notifications":{"toolsListChanged":true}`), modernHeaders("subscriptions/listen", "")...)
		if got := stream.data(); resp.StatusCode != 200 || !strings.Contains(got, "acknowledged") {
			t.Errorf("ended %v: listen: %d %s", ended, resp.StatusCode, got)
		}
	}
	agree("b", a, b)
	if got := send(b, "tools/list", ""); !strings.Contains(got.body, "SHUTTING_DOWN") {
		t.Errorf("alone: %+v", got)
	}
}

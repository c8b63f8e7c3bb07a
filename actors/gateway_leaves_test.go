package actors

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/upstream/pipe"
)

// A modern client cancels by leaving: its call is cancelled at the server, which hears of it once. Two that wait for the
// same call are one each: when one leaves, the other one's call goes on.
func TestAModernClientThatLeavesCancelsItsCall(t *testing.T) {
	within(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"ask"}, Handle: func(*pipe.Peer, protocol.Frame, []byte) {}}
		h := open(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.ready()
		client := &downstream.PipeClient{Handler: h.gateway.Front(), Budget: h.gateway.Budget()}
		call := func(id int) *downstream.PipeExchange {
			origin := downstream.Origin{Path: "/mcp", Remote: "127.0.0.1:40000", Version: "2026-07-28", Header: http.Header{
				"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"one_ask"}}}
			x, refused := client.Post([]byte(modernCall(id, "{}", "")), origin)
			if refused != nil {
				t.Fatalf("refused: %d %s", refused.Status, refused.Frame)
			}
			synctest.Wait()
			return x
		}
		stays, leaves := call(1), call(1)
		if got := len(server.Received("tools/call")); got != 2 {
			seen, _ := stays.Next()
			t.Fatalf("the server got %d calls, want 2: %s", got, seen.Frame)
		}
		leaves.Leave()
		synctest.Wait()
		if got := len(server.Received("notifications/cancelled")); got != 1 {
			t.Errorf("one client left: the server was told %d times", got)
		}
		stays.Leave()
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := len(server.Received("notifications/cancelled")); got != 2 {
			t.Errorf("both left: the server was told %d times", got)
		}
	})(t)
}

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
	"goblin-actor/tests/sim/pipeclient"
)

// A modern client cancels a call by closing its connection. The server gets one cancellation. Two calls with the same ID are
// independent: when one client disconnects, the other one's call continues.
func TestDisconnectCancelsModernCall(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"ask"}, Handle: func(*pipe.Peer, protocol.Frame, []byte) {}}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.waitReady()
		client := &pipeclient.Client{Handler: h.gateway.Front(), Budget: h.gateway.Budget()}
		call := func(id int) *pipeclient.Exchange {
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
			t.Errorf("one client left: the server got %d cancellations, want 1", got)
		}
		stays.Leave()
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := len(server.Received("notifications/cancelled")); got != 2 {
			t.Errorf("both left: the server got %d cancellations, want 2", got)
		}
	})(t)
}

package actors

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/pipe"
)

// textHandler returns a handler that answers every call with a text.
func textHandler(text string) func(*pipe.Peer, protocol.Frame, []byte) {
	return func(p *pipe.Peer, _ protocol.Frame, id []byte) {
		_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[{"type":"text","text":"`+text+`"}]}`)))
	}
}

// With namespace.mode: never, a tool's name keeps leading to the same server, even after a server that precedes it in the configuration
// has started.
func TestNameStaysWithServer(t *testing.T) {
	inBubble(func(t *testing.T) {
		one := &actortest.Server{Tools: []string{"search"}, Handle: textHandler("one's")}
		two := &actortest.Server{Tools: []string{"search"}, Handle: textHandler("two's")}
		var up atomic.Bool
		late := func(sink upstream.Sink) upstream.Link {
			if up.Load() {
				return one.Open(sink)
			}
			link, peer := pipe.New(sink)
			peer.Close(errors.New("not yet"))
			return link
		}
		h := startStdioWith(t, map[string]func(upstream.Sink) upstream.Link{"one": late, "two": two.Open}, "stdio", Options{}, func(c *config.Config) {
			c.Namespace.Mode = "never"
		})
		defer h.close()
		h.initialize()
		call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{}}}`
		if got := h.roundTrip(call); !strings.Contains(got, "two's") {
			t.Fatalf("at first: %s", got)
		}
		up.Store(true)
		time.Sleep(5 * time.Minute)
		h.received()
		if got := toolNames(t, h.roundTrip(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)); len(got) != 2 {
			t.Fatalf("tools %v, want those of both servers", got)
		}
		if got := h.roundTrip(call); !strings.Contains(got, "two's") {
			t.Errorf("after the other server came up: %s", got)
		}
	})(t)
}

package backend

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/transport"
)

// A modern server that was replaced by a legacy one may say so itself, with an error that a modern server has no use for: the TypeScript server's for requests without session.
func TestAServerThatGoesBackAndSaysSo(t *testing.T) {
	for _, c := range []struct {
		name         string
		status, code int
		asked, goes  bool // whether it is still modern; that it is not
	}{
		{"not initialized", 400, -32000, true, true},
		{"not initialized, but modern when asked", 400, -32000, true, false},
		{"wrong params", 400, -32602, false, false},
		{"no such method", 404, -32601, false, false},
		{"an error of the tool's", 200, -32000, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &actortest.Modern{HTTP: true, Tools: []string{"add"}}
				b := modern(t, server)
				defer b.stop()
				time.Sleep(steady)
				before := len(server.Got("server/discover"))
				refuse := func(g actortest.Got) bool {
					var f protocol.Frame
					if err := f.Parse(protocol.AppendError(nil, g.ID(), c.code, "Bad Request", nil)); err != nil {
						t.Error(err)
					}
					_ = g.Peer.Tell(transport.Received{Ticket: g.Out.Ticket, Frame: f, Last: true, Status: c.status})
					return true
				}
				server.Handle = func(g actortest.Got) { refuse(g) }
				if c.goes {
					server.Discover, server.Other = refuse, initializes
				}
				b.call(1, legacyRequest(t, 0))
				if ends, _ := b.outcomes(); len(ends) != 1 || !strings.Contains(ends[0], "Bad Request") {
					t.Errorf("the call ends %v, want the server's own error", ends)
				}
				time.Sleep(2 * settleTime)
				synctest.Wait()
				if asked := len(server.Got("server/discover")) > before; asked != c.asked {
					t.Errorf("asked again: %v, want %v", asked, c.asked)
				}
				changes := actortest.Of[message.BackendChanged](b.pool)
				if goes := len(changes) > 0 && changes[len(changes)-1].Known.Era == message.EraLegacy; goes != c.goes {
					t.Errorf("changes %+v; want it to be legacy: %v", changes, c.goes)
				}
			})
		})
	}
}

// A legacy server that was replaced by a modern one refuses the version.
func TestAServerThatMovesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &actortest.Modern{HTTP: true, Tools: []string{"add"}, Discover: httpStatus(404), Other: initializes}
		b := startOn(t, Options{Server: auto(), Open: server.Open, Kind: "http", Catalog: true})
		defer b.stop()
		time.Sleep(steady + 2*settleTime)
		if p := b.phases(); len(p) == 0 || p[len(p)-1] != message.Ready {
			t.Fatalf("phases %v, want ready", p)
		}
		server.Discover, server.Other = nil, nil
		server.Handle = func(g actortest.Got) {
			g.Error(-32022, "Unsupported protocol version", `{"supported":["2026-07-28"],"requested":"2025-11-25"}`)
		}
		b.call(1, legacyRequest(t, 0))
		time.Sleep(2 * settleTime)
		synctest.Wait()
		if ends, _ := b.outcomes(); len(ends) != 1 {
			t.Errorf("the call ends %v, want once", ends)
		}
		changes := actortest.Of[message.BackendChanged](b.pool)
		if len(changes) == 0 || changes[len(changes)-1].Phase != message.Ready || changes[len(changes)-1].Known.Era != message.EraModern {
			t.Errorf("changes %+v, want ready in the modern era", changes)
		}
	})
}

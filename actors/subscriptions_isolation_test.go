package actors

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream/pipe"
)

// isolatedServer is a server with resources. It records the connections with a subscription, the newest last.
type isolatedServer struct {
	*actortest.Server
	mu   sync.Mutex
	subs []*pipe.Peer
}

func newIsolatedServer() *isolatedServer {
	s := &isolatedServer{}
	s.Server = &actortest.Server{Tools: []string{"t"}, Resources: []string{"file:///a"}, Handle: func(p *pipe.Peer, f protocol.Frame, id []byte) {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch f.Method {
		case protocol.MethodResourcesSubscribe:
			s.subs = append(s.subs, p)
		case protocol.MethodResourcesUnsubscribe:
			for i := range s.subs {
				if s.subs[i] == p {
					s.subs = append(s.subs[:i], s.subs[i+1:]...)
					break
				}
			}
		}
		_ = p.Send(protocol.AppendResult(nil, id, []byte(`{}`)))
	}}
	return s
}

// subscribed returns the connections with a subscription.
func (s *isolatedServer) subscribed() []*pipe.Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*pipe.Peer(nil), s.subs...)
}

// sendUpdate sends an update of uri on the newest open connection with a subscription. A connection that the gateway closed
// may still record its last subscription after the next connection recorded its first, because each has its own goroutine.
func (s *isolatedServer) sendUpdate(uri string) bool {
	at := s.subscribed()
	for i := len(at) - 1; i >= 0; i-- {
		if at[i].Send([]byte(updatedFrame(uri))) == nil {
			return true
		}
	}
	return false
}

const listenToA = `,"notifications":{"resourceSubscriptions":["file:///a"]}`

// countUpdates counts the updates for legacy and modern clients in lines.
func countUpdates(lines []string) (legacy, modern int) {
	for _, line := range lines {
		switch {
		case !strings.Contains(line, "resources/updated"):
		case strings.Contains(line, "subscriptionId"):
			modern++
		default:
			legacy++
		}
	}
	return legacy, modern
}

// With isolation by session, each client subscribes on its own connection, which is opened for that purpose, and gets
// its updates. When a connection is lost, only its client gets an update, because it may have missed one.
func TestSubscriptionsOnOwnConnections(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := newIsolatedServer()
		h := startStdio(t, map[string]*actortest.Server{"one": server.Server}, func(c *config.Config) { c.Servers[0].Isolation, c.Servers[0].MaxBackends = "session", 64 })
		defer h.close()
		h.initialize()
		if got := h.roundTrip(fmt.Sprintf(subscribeA, 1)); !strings.Contains(got, `"result":{}`) {
			t.Fatalf("subscribe: %s", got)
		}
		if got := h.send(modern(7, "subscriptions/listen", "{}", listenToA)); len(got) != 1 || !strings.Contains(got[0], `"file:///a"`) && !strings.Contains(got[0], `resource://one/file:///a`) {
			t.Fatalf("listen: %v", got)
		}
		at := server.subscribed()
		if len(at) != 2 || at[0] == at[1] || server.Opened() != 3 {
			t.Fatalf("%d subscriptions, %d connections, want 2 and 3", len(at), server.Opened())
		}
		h.roundTrip(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_t"}}`)
		if server.Opened() != 3 {
			t.Errorf("%d connections after a call, want 3: the call uses its client's", server.Opened())
		}
		update := func(name string, i, wantLegacy, wantModern int) {
			t.Helper()
			_ = at[i].Send([]byte(updatedFrame("file:///a")))
			if legacy, modern := countUpdates(h.received()); legacy != wantLegacy || modern != wantModern {
				t.Errorf("%s: %d legacy and %d modern updates, want %d and %d", name, legacy, modern, wantLegacy, wantModern)
			}
		}
		update("the legacy client's connection", 0, 1, 0)
		update("the modern client's connection", 1, 0, 1)
		at[0].Close(errors.New("gone"))
		time.Sleep(10 * time.Second)
		if legacy, modern := countUpdates(h.received()); legacy != 1 || modern != 0 {
			t.Errorf("after the loss %d legacy and %d modern updates, want 1 and 0", legacy, modern)
		}
		if at = server.subscribed(); len(at) != 3 || server.Opened() != 4 {
			t.Fatalf("%d subscriptions, %d connections after the loss", len(at), server.Opened())
		}
		update("the new connection", 2, 1, 0)
		h.send(`{"jsonrpc":"2.0","id":3,"method":"resources/unsubscribe","params":{"uri":"file:///a"}}`)
		time.Sleep(5 * time.Second)
		if at = server.subscribed(); len(at) != 2 {
			t.Errorf("%d subscriptions after one was ended, want 2", len(at))
		}
	})(t)
}

// When a server is disabled and enabled again, or its pool restarts, the clients' own connections are opened again, and the
// subscriptions are restored.
func TestOwnSubscriptionsSurvivePoolRestart(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := newIsolatedServer()
		var first config.Config
		h := startStdio(t, map[string]*actortest.Server{"one": server.Server}, func(c *config.Config) {
			c.Servers[0].Isolation, c.Servers[0].MaxBackends = "session", 64
			first = *c
		})
		defer h.close()
		h.initialize()
		h.roundTrip(fmt.Sprintf(subscribeA, 1))
		h.send(modern(7, "subscriptions/listen", "{}", listenToA))
		for _, meanwhile := range []func(){
			func() {
				h.gateway.Reload(withFirstDisabled(first))
				time.Sleep(5 * time.Second)
				h.gateway.Reload(&first)
			},
			func() {
				pool, _ := h.gateway.system.Lookup("gateway/pool/one")
				pool.Tell(message.Inspect{}) // it panics on this message
			},
		} {
			before := len(server.subscribed())
			meanwhile()
			time.Sleep(5 * time.Second)
			if legacy, modern := countUpdates(h.received()); legacy != 1 || modern != 1 {
				t.Errorf("%d legacy and %d modern updates, want 1 and 1", legacy, modern)
			}
			if at := server.subscribed(); len(at) != before+2 || at[before] == at[before+1] {
				t.Errorf("%d new subscriptions, want 2 on two connections", len(at)-before)
			}
		}
	})(t)
}

// When a reload changes a server's isolation, the legacy client's subscription moves to the new connections. The modern
// client's stream ends and the client opens a new one. Both get an update, because they may have missed one.
func TestSubscriptionsFollowIsolation(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := newIsolatedServer()
		var first config.Config
		h := startStdio(t, map[string]*actortest.Server{"one": server.Server}, func(c *config.Config) { first = *c })
		defer h.close()
		h.initialize()
		h.roundTrip(fmt.Sprintf(subscribeA, 1))
		for i, isolation := range []string{"session", "principal", "session", "shared"} {
			id := 10 + i
			h.send(modern(id, "subscriptions/listen", "{}", listenToA))
			opened := server.Opened()
			h.gateway.Reload(withFirstServer(first, func(s *config.Server) { s.Isolation, s.MaxBackends = isolation, 64 }))
			time.Sleep(5 * time.Second)
			got := h.received()
			if legacy, modern := countUpdates(got); legacy == 0 || modern != 1 || !strings.Contains(strings.Join(got, "\n"), fmt.Sprintf(`"id":%d,"result"`, id)) {
				t.Errorf("%s: %d legacy and %d modern updates; %v", isolation, legacy, modern, got)
			}
			want := 2 // one for the catalog and the client's own
			if isolation == "shared" {
				want = 1
			}
			if n := server.Opened() - opened; n != want {
				t.Errorf("%s: %d new connections, want %d", isolation, n, want)
			}
			if !server.sendUpdate("file:///a") {
				t.Errorf("%s: no connection with a subscription is open", isolation)
			}
			if legacy, modern := countUpdates(h.received()); legacy != 1 || modern != 0 {
				t.Errorf("%s: afterwards %d legacy and %d modern updates, want 1 and 0", isolation, legacy, modern)
			}
			if got := h.roundTrip(fmt.Sprintf(subscribeA, 100+i)); !strings.Contains(got, `"result":{}`) {
				t.Errorf("%s: subscribe: %s", isolation, got)
			}
		}
	})(t)
}

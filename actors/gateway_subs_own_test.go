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

// isolatedTelling is a server of resources that knows on which connections it was subscribed to, the newest last.
type isolatedTelling struct {
	*actortest.Server
	mu   sync.Mutex
	subs []*pipe.Peer
}

func newIsolatedTelling() *isolatedTelling {
	s := &isolatedTelling{}
	s.Server = &actortest.Server{Tools: []string{"t"}, Resources: []string{"file:///a"}, Handle: func(p *pipe.Peer, f protocol.Frame, id []byte) {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch f.M {
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

// at are the connections it was subscribed to on.
func (s *isolatedTelling) at() []*pipe.Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*pipe.Peer(nil), s.subs...)
}

// tell reports an update of uri on the newest open connection with a subscription. A connection that the gateway closed may still record its
// last subscription after the next connection recorded its first, because each has a goroutine of its own.
func (s *isolatedTelling) tell(uri string) bool {
	at := s.at()
	for i := len(at) - 1; i >= 0; i-- {
		if at[i].Send([]byte(updatedFrame(uri))) == nil {
			return true
		}
	}
	return false
}

const listenToA = `,"notifications":{"resourceSubscriptions":["file:///a"]}`

// heard counts the updates among lines, for clients of the legacy era and of the modern one.
func heard(lines []string) (legacy, modern int) {
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

// Each client is subscribed on the connection that is its own, which was made for that, and hears what is told there. When it is lost its
// client, and no other, hears that something may have changed.
func TestSubscriptionsOnOnesOwnConnection(t *testing.T) {
	within(func(t *testing.T) {
		server := newIsolatedTelling()
		h := open(t, map[string]*actortest.Server{"one": server.Server}, func(c *config.Config) { c.Servers[0].Isolation, c.Servers[0].MaxBackends = "session", 64 })
		defer h.close()
		h.initialize()
		if got := h.one(fmt.Sprintf(subscribeA, 1)); !strings.Contains(got, `"result":{}`) {
			t.Fatalf("subscribe: %s", got)
		}
		if got := h.send(modern(7, "subscriptions/listen", "{}", listenToA)); len(got) != 1 || !strings.Contains(got[0], `"file:///a"`) && !strings.Contains(got[0], `resource://one/file:///a`) {
			t.Fatalf("listen: %v", got)
		}
		at := server.at()
		if len(at) != 2 || at[0] == at[1] || server.Opened() != 3 {
			t.Fatalf("%d subscriptions, %d connections, want 2 and 3", len(at), server.Opened())
		}
		h.one(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_t"}}`)
		if server.Opened() != 3 {
			t.Errorf("%d connections after a call, which belongs on its client's", server.Opened())
		}
		tell := func(name string, i, wantLegacy, wantModern int) {
			t.Helper()
			_ = at[i].Send([]byte(updatedFrame("file:///a")))
			if legacy, modern := heard(h.got()); legacy != wantLegacy || modern != wantModern {
				t.Errorf("%s: %d legacy and %d modern clients heard, want %d and %d", name, legacy, modern, wantLegacy, wantModern)
			}
		}
		tell("the legacy client's", 0, 1, 0)
		tell("the modern client's", 1, 0, 1)
		at[0].Close(errors.New("gone"))
		time.Sleep(10 * time.Second)
		if legacy, modern := heard(h.got()); legacy != 1 || modern != 0 {
			t.Errorf("after the loss %d legacy and %d modern clients heard, want 1 and 0", legacy, modern)
		}
		if at = server.at(); len(at) != 3 || server.Opened() != 4 {
			t.Fatalf("%d subscriptions, %d connections after the loss", len(at), server.Opened())
		}
		tell("the new one", 2, 1, 0)
		h.send(`{"jsonrpc":"2.0","id":3,"method":"resources/unsubscribe","params":{"uri":"file:///a"}}`)
		time.Sleep(5 * time.Second)
		if at = server.at(); len(at) != 2 {
			t.Errorf("%d subscriptions after one was ended", len(at))
		}
	})(t)
}

// A server that is switched off and on, or whose pool begins anew, has the clients' own connections made and subscribed again; they end with
// their client all the same.
func TestOwnSubscriptionsOutliveAPool(t *testing.T) {
	within(func(t *testing.T) {
		server := newIsolatedTelling()
		var first config.Config
		h := open(t, map[string]*actortest.Server{"one": server.Server}, func(c *config.Config) {
			c.Servers[0].Isolation, c.Servers[0].MaxBackends = "session", 64
			first = *c
		})
		defer h.close()
		h.initialize()
		h.one(fmt.Sprintf(subscribeA, 1))
		h.send(modern(7, "subscriptions/listen", "{}", listenToA))
		for _, meanwhile := range []func(){
			func() {
				h.gateway.Reload(without(first))
				time.Sleep(5 * time.Second)
				h.gateway.Reload(&first)
			},
			func() {
				pool, _ := h.gateway.system.Lookup("gateway/pool/one")
				pool.Tell(message.Inspect{}) // it panics
			},
		} {
			before := len(server.at())
			meanwhile()
			time.Sleep(5 * time.Second)
			if legacy, modern := heard(h.got()); legacy != 1 || modern != 1 {
				t.Errorf("%d legacy and %d modern clients heard that something may have changed", legacy, modern)
			}
			if at := server.at(); len(at) != before+2 || at[before] == at[before+1] {
				t.Errorf("%d subscriptions were made, want 2, on two connections", len(at)-before)
			}
		}
	})(t)
}

// A reload that changes who shares a server's connections: the legacy client is subscribed on those that are its own now, a modern client's
// stream ends and is opened anew by its client. Both hear that something may have changed.
func TestSubscriptionsFollowIsolation(t *testing.T) {
	within(func(t *testing.T) {
		server := newIsolatedTelling()
		var first config.Config
		h := open(t, map[string]*actortest.Server{"one": server.Server}, func(c *config.Config) { first = *c })
		defer h.close()
		h.initialize()
		h.one(fmt.Sprintf(subscribeA, 1))
		for i, isolation := range []string{"session", "principal", "session", "shared"} {
			id := 10 + i
			h.send(modern(id, "subscriptions/listen", "{}", listenToA))
			opened := server.Opened()
			h.gateway.Reload(changed(first, func(s *config.Server) { s.Isolation, s.MaxBackends = isolation, 64 }))
			time.Sleep(5 * time.Second)
			got := h.got()
			if legacy, modern := heard(got); legacy == 0 || modern != 1 || !strings.Contains(strings.Join(got, "\n"), fmt.Sprintf(`"id":%d,"result"`, id)) {
				t.Errorf("%s: %d legacy and %d modern clients heard; %v", isolation, legacy, modern, got)
			}
			want := 2 // the one that lists, and the client's own
			if isolation == "shared" {
				want = 1
			}
			if n := server.Opened() - opened; n != want {
				t.Errorf("%s: %d connections were made, want %d", isolation, n, want)
			}
			if !server.tell("file:///a") {
				t.Errorf("%s: no connection with a subscription is open", isolation)
			}
			if legacy, modern := heard(h.got()); legacy != 1 || modern != 0 {
				t.Errorf("%s: afterwards %d legacy and %d modern clients hear", isolation, legacy, modern)
			}
			if got := h.one(fmt.Sprintf(subscribeA, 100+i)); !strings.Contains(got, `"result":{}`) {
				t.Errorf("%s: subscribe: %s", isolation, got)
			}
		}
	})(t)
}

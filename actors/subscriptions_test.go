package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/pipe"
)

// subscriptionServer is a server with resources that answers at once. If hold is set, it holds its answers to subscribe
// requests back.
type subscriptionServer struct {
	*actortest.Server
	mu   sync.Mutex
	hold bool
	held []func()
}

func newSubscriptionServer(hold bool) *subscriptionServer {
	s := &subscriptionServer{hold: hold}
	s.Server = &actortest.Server{Tools: []string{"t"}, Resources: []string{"file:///a", "file:///dir", "file:///dirt"}, Handle: func(p *pipe.Peer, f protocol.Frame, id []byte) {
		answer := func() { _ = p.Send(protocol.AppendResult(nil, id, []byte(`{}`))) }
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.hold && f.Method == protocol.MethodResourcesSubscribe {
			s.held = append(s.held, answer)
			return
		}
		answer()
	}}
	return s
}

// release sends the answers that were held back.
func (s *subscriptionServer) release() {
	s.mu.Lock()
	held := s.held
	s.held, s.hold = nil, false
	s.mu.Unlock()
	for _, answer := range held {
		answer()
	}
}

func updatedFrame(uri string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":%q}}`, uri)
}

func (s *subscriptionServer) sendUpdate(uri string) { _ = s.Last().Send([]byte(updatedFrame(uri))) }

const subscribeA = `{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":"file:///a"}}`

// withFirstDisabled returns the configuration with its first server disabled.
func withFirstDisabled(c config.Config) *config.Config {
	c.Servers = append([]config.Server(nil), c.Servers...)
	c.Servers[0].Disabled = true
	return &c
}

// resources/subscribe is answered exactly once, whatever happens before its server answers.
func TestSubscribeIsAlwaysAnswered(t *testing.T) {
	for name, meanwhile := range map[string]func(*stdioHarness, *subscriptionServer, config.Config){
		"unsubscribed": func(h *stdioHarness, server *subscriptionServer, _ config.Config) {
			if got := h.send(`{"jsonrpc":"2.0","id":2,"method":"resources/unsubscribe","params":{"uri":"file:///a"}}`); len(got) != 1 {
				h.t.Errorf("unsubscribe: %v", got)
			}
			server.release()
		},
		"disabled": func(h *stdioHarness, _ *subscriptionServer, first config.Config) {
			h.gateway.Reload(withFirstDisabled(first))
		},
		"removed": func(h *stdioHarness, _ *subscriptionServer, first config.Config) {
			first.Servers = nil
			h.gateway.Reload(&first)
		},
		"pool restarts": func(h *stdioHarness, _ *subscriptionServer, _ config.Config) {
			pool, _ := h.gateway.system.Lookup("gateway/pool/one")
			pool.Tell(message.Inspect{}) // it panics on this message
		},
	} {
		t.Run(name, inBubble(func(t *testing.T) {
			server := newSubscriptionServer(true)
			var first config.Config
			h := startStdio(t, map[string]*actortest.Server{"one": server.Server}, func(c *config.Config) { first = *c })
			defer h.close()
			h.initialize()
			if got := h.send(fmt.Sprintf(subscribeA, 1)); len(got) != 0 {
				t.Fatalf("answered before the server has answered: %v", got)
			}
			meanwhile(h, server, first)
			time.Sleep(10 * time.Second)
			answers := 0
			for _, line := range h.received() {
				if strings.Contains(line, `"id":1,`) {
					answers++
				}
			}
			if answers != 1 {
				t.Errorf("%d answers, want 1", answers)
			}
		}))
	}
}

// When a server is disabled and enabled again, or its pool restarts, the subscriptions of clients of both eras are
// restored. Each client gets an update, because it may have missed one.
func TestSubscriptionsSurvivePoolRestart(t *testing.T) {
	for name, meanwhile := range map[string]func(*stdioHarness, config.Config){
		"disabled and enabled": func(h *stdioHarness, first config.Config) {
			h.gateway.Reload(withFirstDisabled(first))
			time.Sleep(5 * time.Second)
			h.gateway.Reload(&first)
		},
		"pool restarts": func(h *stdioHarness, _ config.Config) {
			pool, _ := h.gateway.system.Lookup("gateway/pool/one")
			pool.Tell(message.Inspect{}) // it panics on this message
		},
	} {
		t.Run(name, inBubble(func(t *testing.T) {
			server := newSubscriptionServer(false)
			var first config.Config
			h := startStdio(t, map[string]*actortest.Server{"one": server.Server}, func(c *config.Config) { first = *c })
			defer h.close()
			h.initialize()
			h.roundTrip(fmt.Sprintf(subscribeA, 1))
			h.send(modern(7, "subscriptions/listen", "{}", `,"notifications":{"resourceSubscriptions":["file:///a"]}`))
			meanwhile(h, first)
			time.Sleep(5 * time.Second)
			if n := strings.Count(strings.Join(h.received(), "\n"), "resources/updated"); n != 2 {
				t.Errorf("%d updates after the restart, want one for each of 2 clients", n)
			}
			server.sendUpdate("file:///a")
			if got := h.received(); len(got) != 2 {
				t.Errorf("an update afterwards: %v, want one for each client", got)
			}
		}))
	}
}

// S0.10.6: An update of a sub-resource reaches the subscribers of its parent in both eras. An update of a URI that only shares a
// prefix does not.
func TestUpdatesOfSubresources(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := newSubscriptionServer(false)
		h := startStdio(t, map[string]*actortest.Server{"one": server.Server}, nil)
		defer h.close()
		h.initialize()
		h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"file:///dir"}}`)
		h.send(modern(7, "subscriptions/listen", "{}", `,"notifications":{"resourceSubscriptions":["file:///dir"]}`))
		for uri, want := range map[string]int{"file:///dir/x": 2, "file:///dir": 2, "file:///dirt": 0} {
			server.sendUpdate(uri)
			if got := h.received(); len(got) != want {
				t.Errorf("%s: %v, want %d", uri, got, want)
			}
		}
		s, err := h.gateway.Status(t.Context())
		if err != nil || len(s.Subscriptions) != 2 {
			t.Fatalf("%+v, %v", s, err)
		}
		for _, sub := range s.Subscriptions {
			if sub.Told != 2 || sub.LastMinute != 2 || sub.Merged != 0 || s.Now.Sub(sub.Last) > time.Minute {
				t.Errorf("in the status: %+v", sub)
			}
		}
	})(t)
}

// unreachableServer is a subscriptionServer with two URLs, of which the first can become unreachable without closing its
// connections.
type unreachableServer struct {
	*subscriptionServer
	mu          sync.Mutex
	unreachable bool
}

func (s *unreachableServer) options() Options {
	return Options{Open: func(_ config.Server, replica int) (func(upstream.Sink) upstream.Link, string) {
		return func(sink upstream.Sink) upstream.Link {
			return &unreachableLink{s.Server.Open(sink), sink, s, replica}
		}, "http"
	}}
}

type unreachableLink struct {
	upstream.Link
	sink    upstream.Sink
	of      *unreachableServer
	replica int
}

func (l *unreachableLink) Send(o upstream.Outgoing) {
	l.of.mu.Lock()
	gone := l.of.unreachable && l.replica == 0
	l.of.mu.Unlock()
	if !gone {
		l.Link.Send(o)
		return
	}
	go func() {
		_ = l.sink(context.Background(), upstream.NotSent{Ticket: o.Ticket, Err: errors.New("connection refused")})
	}()
}

// A server has two URLs. The one that holds a subscription becomes unreachable without notice. A call detects this, and the
// subscription moves to the other URL.
func TestSubscriptionMovesToReachableURL(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &unreachableServer{subscriptionServer: newSubscriptionServer(false)}
		h := startStdioWith(t, map[string]func(upstream.Sink) upstream.Link{"one": server.Open}, "http", server.options(), func(c *config.Config) {
			one := &c.Servers[0]
			one.Command, one.URLs, one.Isolation, one.Protocol = "", []string{"http://127.0.0.1:1/", "http://127.0.0.1:2/"}, "class", "legacy"
		})
		defer h.close()
		time.Sleep(5 * time.Second)
		h.initialize()
		h.roundTrip(fmt.Sprintf(subscribeA, 1))
		call := func(id int) []string {
			got := h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"one_t"}}`, id))
			time.Sleep(5 * time.Second)
			return append(got, h.received()...)
		}
		call(2) // opens the connections of the client's class
		before := len(server.Received("resources/subscribe"))
		server.mu.Lock()
		server.unreachable = true
		server.mu.Unlock()
		var got []string
		for id := range 4 {
			got = append(got, call(3+id)...)
		}
		synctest.Wait()
		if n := len(server.Received("resources/subscribe")) - before; n != 1 {
			t.Errorf("the other URL got %d subscribes, want 1", n)
		}
		if n := strings.Count(strings.Join(got, "\n"), "resources/updated"); n != 1 {
			t.Errorf("the client got %d updates, want 1: %v", n, got)
		}
		if n := strings.Count(strings.Join(got, "\n"), `"result"`); n != 4 {
			t.Errorf("%d of 4 calls succeeded: %v", n, got)
		}
	})(t)
}

// S0.7.1, S0.7.2, S0.7.3, S0.7.4, S4.5.2, S1.55, S1.56, S1.58: the server gets one subscribe request if a client subscribes twice,
// updates carry the client's URI, and unsubscribing ends the subscription. S0.10.2: the status, from which /metrics is generated, contains the
// number of subscriptions.
func TestSubscriptions(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Resources: []string{"file:///a"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			_ = p.Send(protocol.AppendResult(nil, id, []byte("{}")))
		}}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.initialize()
		subscribe := `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"resource://one/file:///a"}}`
		for range 2 {
			if got := h.roundTrip(subscribe); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
				t.Fatalf("subscribe: %s", got)
			}
		}
		if st, err := h.gateway.Status(t.Context()); err != nil || st.Servers[0].Subscribed != 1 || st.Servers[0].Subscribers != 1 {
			t.Errorf("status: %+v %v, want one subscription of one subscriber", st, err)
		}
		sent := server.Received("resources/subscribe")
		if len(sent) != 1 || !strings.Contains(string(sent[0].Raw), `"params":{"uri":"file:///a"}`) {
			t.Fatalf("the server got %v, want one subscribe of the original URI", sent)
		}
		for _, uri := range []string{"resource://one/file:///b", "unknown://x"} { // an unknown resource of a known server, and one without a server
			if got := h.roundTrip(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":%q}}`, uri)); !strings.Contains(got, `"RESOURCE_NOT_FOUND"`) {
				t.Errorf("unknown resource: %s", got)
			}
		}
		if n := len(server.Received("resources/subscribe")); n != 1 {
			t.Errorf("the server got %d subscribes, want none for an unknown resource", n)
		}
		_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a","x":1.0}}`))
		if got := h.received(); len(got) != 1 || got[0] != `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"resource://one/file:///a","x":1.0}}` {
			t.Errorf("update: %v", got)
		}
		time.Sleep(10 * time.Second)
		server.Last().Close(nil) // after the reconnect: subscribed again, and the client gets an update, because one may have been missed
		time.Sleep(time.Second)
		if n := len(server.Received("resources/subscribe")); n != 2 {
			t.Errorf("the server got %d subscribes including the reconnect, want 2", n)
		}
		if got := h.received(); len(got) != 1 || !strings.Contains(got[0], "resources/updated") {
			t.Errorf("after the reconnect: %v, want one update", got)
		}
		h.roundTrip(`{"jsonrpc":"2.0","id":3,"method":"resources/unsubscribe","params":{"uri":"resource://one/file:///a"}}`)
		time.Sleep(3 * time.Second)
		if n := len(server.Received("resources/unsubscribe")); n != 1 {
			t.Errorf("the server got %d unsubscribes, want 1", n)
		}
		_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}`))
		if got := h.received(); len(got) != 0 {
			t.Errorf("after unsubscribe: %v", got)
		}
	})(t)
}

// S0.9.3: when the server refuses a subscription, the client gets its error unchanged and no subscription remains.
func TestSubscribeRefused(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Resources: []string{"file:///a"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			_ = p.Send([]byte(`{"jsonrpc":"2.0","id":` + string(id) + `,"error":{"code":-32601,"message":"no","data":{"z":1.0}}}`))
		}}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.initialize()
		got := h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"resource://one/file:///a"}}`)
		if got != `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no","data":{"z":1.0}}}` {
			t.Errorf("subscribe: %s", got)
		}
		if st, err := h.gateway.Status(t.Context()); err != nil || st.Servers[0].Subscribed+st.Servers[0].Subscribers+len(st.Subscriptions) != 0 {
			t.Errorf("after the refusal: %+v, %v", st, err)
		}
		_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}`))
		if got := h.received(); len(got) != 0 {
			t.Errorf("an update after the refusal: %v", got)
		}
	})(t)
}

// S0.7.4, S1.58: an update reaches every client that subscribed, in both eras, and no other client. The server gets one
// subscribe.
func TestUpdatesReachSubscribersOnly(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Resources: []string{"file:///a"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			_ = p.Send(protocol.AppendResult(nil, id, []byte("{}")))
		}}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.initialize()
		const wanted = `,"notifications":{"resourceSubscriptions":["resource://one/file:///a"]}`
		h.send(modern(11, "subscriptions/listen", "{}", wanted), modern(12, "subscriptions/listen", "{}", wanted),
			modern(13, "subscriptions/listen", "{}", `,"notifications":{"resourcesListChanged":true}`))
		time.Sleep(time.Second)
		h.received()
		expectUpdates := func(when string, want ...string) {
			t.Helper()
			_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}`))
			time.Sleep(time.Second)
			got := h.received()
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: updates %q, want %q", when, got, want)
			}
		}
		const head = `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{`
		tagged := func(id int) string {
			return fmt.Sprintf(head+`"_meta":{"io.modelcontextprotocol/subscriptionId":%d},"uri":"resource://one/file:///a"}}`, id)
		}
		expectUpdates("two streams", tagged(11), tagged(12))
		h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"resource://one/file:///a"}}`)
		expectUpdates("two streams and the session", tagged(11), tagged(12), head+`"uri":"resource://one/file:///a"}}`)
		if n := len(server.Received("resources/subscribe")); n != 1 {
			t.Errorf("the server got %d subscribes, want 1", n)
		}
	})(t)
}

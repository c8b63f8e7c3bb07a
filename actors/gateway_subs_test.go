package actors

import (
	"context"
	"errors"
	"fmt"
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

// telling is a server of resources that answers at once, except what it is told to hold, and subscribes after a word.
type telling struct {
	*actortest.Server
	mu   sync.Mutex
	hold bool
	held []func()
}

func newTelling(hold bool) *telling {
	s := &telling{hold: hold}
	s.Server = &actortest.Server{Tools: []string{"t"}, Resources: []string{"file:///a", "file:///dir", "file:///dirt"}, Handle: func(p *pipe.Peer, f protocol.Frame, id []byte) {
		answer := func() { _ = p.Send(protocol.AppendResult(nil, id, []byte(`{}`))) }
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.hold && f.M == protocol.MethodResourcesSubscribe {
			s.held = append(s.held, answer)
			return
		}
		answer()
	}}
	return s
}

// release answers what was held.
func (s *telling) release() {
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

func (s *telling) tell(uri string) { _ = s.Last().Send([]byte(updatedFrame(uri))) }

const subscribeA = `{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":"file:///a"}}`

// without is the configuration with its first server switched off.
func without(c config.Config) *config.Config {
	c.Servers = append([]config.Server(nil), c.Servers...)
	c.Servers[0].Disabled = true
	return &c
}

// resources/subscribe is answered, whatever happens before its server has said yes.
func TestEverySubscribeIsAnswered(t *testing.T) {
	for name, meanwhile := range map[string]func(*house, *telling, config.Config){
		"unsubscribed": func(h *house, server *telling, _ config.Config) {
			if got := h.send(`{"jsonrpc":"2.0","id":2,"method":"resources/unsubscribe","params":{"uri":"file:///a"}}`); len(got) != 1 {
				h.t.Errorf("unsubscribe: %v", got)
			}
			server.release()
		},
		"switched off": func(h *house, _ *telling, first config.Config) { h.gateway.Reload(without(first)) },
		"removed": func(h *house, _ *telling, first config.Config) {
			first.Servers = nil
			h.gateway.Reload(&first)
		},
		"pool restarts": func(h *house, _ *telling, _ config.Config) {
			pool, _ := h.gateway.system.Lookup("gateway/pool/one")
			pool.Tell(message.Inspect{}) // it panics
		},
	} {
		t.Run(name, within(func(t *testing.T) {
			server := newTelling(true)
			var first config.Config
			h := open(t, map[string]*actortest.Server{"one": server.Server}, func(c *config.Config) { first = *c })
			defer h.close()
			h.initialize()
			if got := h.send(fmt.Sprintf(subscribeA, 1)); len(got) != 0 {
				t.Fatalf("answered before the server: %v", got)
			}
			meanwhile(h, server, first)
			time.Sleep(10 * time.Second)
			answers := 0
			for _, line := range h.got() {
				if strings.Contains(line, `"id":1,`) {
					answers++
				}
			}
			if answers != 1 {
				t.Errorf("%d answers", answers)
			}
		}))
	}
}

// A server that was switched off and on again, or whose pool was restarted, is asked again for what clients of both eras are
// subscribed to, and they hear that something may have changed meanwhile.
func TestSubscriptionsOutliveAPool(t *testing.T) {
	for name, meanwhile := range map[string]func(*house, config.Config){
		"off and on": func(h *house, first config.Config) {
			h.gateway.Reload(without(first))
			time.Sleep(5 * time.Second)
			h.gateway.Reload(&first)
		},
		"pool restarts": func(h *house, _ config.Config) {
			pool, _ := h.gateway.system.Lookup("gateway/pool/one")
			pool.Tell(message.Inspect{}) // it panics
		},
	} {
		t.Run(name, within(func(t *testing.T) {
			server := newTelling(false)
			var first config.Config
			h := open(t, map[string]*actortest.Server{"one": server.Server}, func(c *config.Config) { first = *c })
			defer h.close()
			h.initialize()
			h.one(fmt.Sprintf(subscribeA, 1))
			h.send(modern(7, "subscriptions/listen", "{}", `,"notifications":{"resourceSubscriptions":["file:///a"]}`))
			meanwhile(h, first)
			time.Sleep(5 * time.Second)
			if n := strings.Count(strings.Join(h.got(), "\n"), "resources/updated"); n != 2 {
				t.Errorf("%d clients heard that something may have changed, want 2", n)
			}
			server.tell("file:///a")
			if got := h.got(); len(got) != 2 {
				t.Errorf("an update afterwards: %v, want one for each client", got)
			}
		}))
	}
}

// An update of a part of what was subscribed to reaches clients of both eras; of what only begins with the same letters, none.
func TestUpdatesOfParts(t *testing.T) {
	within(func(t *testing.T) {
		server := newTelling(false)
		h := open(t, map[string]*actortest.Server{"one": server.Server}, nil)
		defer h.close()
		h.initialize()
		h.one(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"file:///dir"}}`)
		h.send(modern(7, "subscriptions/listen", "{}", `,"notifications":{"resourceSubscriptions":["file:///dir"]}`))
		for uri, want := range map[string]int{"file:///dir/x": 2, "file:///dir": 2, "file:///dirt": 0} {
			server.tell(uri)
			if got := h.got(); len(got) != want {
				t.Errorf("%s: %v, want %d", uri, got, want)
			}
		}
	})(t)
}

// shaky is a telling server behind two URLs, of which the first may go away without a word, as hosts do.
type shaky struct {
	*telling
	mu   sync.Mutex
	gone bool
}

func (s *shaky) options() Options {
	return Options{Open: func(_ config.Server, replica int) (func(upstream.Sink) upstream.Link, string) {
		return func(sink upstream.Sink) upstream.Link {
			return &shakyLink{s.Server.Open(sink), sink, s, replica}
		}, "http"
	}}
}

type shakyLink struct {
	upstream.Link
	sink    upstream.Sink
	of      *shaky
	replica int
}

func (l *shakyLink) Send(o upstream.Outgoing) {
	l.of.mu.Lock()
	gone := l.of.gone && l.replica == 0
	l.of.mu.Unlock()
	if !gone {
		l.Link.Send(o)
		return
	}
	go func() {
		_ = l.sink(context.Background(), upstream.NotSent{Ticket: o.Ticket, Err: errors.New("connection refused")})
	}()
}

// Two URLs, connections by class of client: the one that holds a subscription goes away without a word. A call finds that
// out, and the other URL is asked for the updates.
func TestSubscriptionsOfAURLThatGoesAway(t *testing.T) {
	within(func(t *testing.T) {
		server := &shaky{telling: newTelling(false)}
		h := openOn(t, map[string]func(upstream.Sink) upstream.Link{"one": server.Open}, "http", server.options(), func(c *config.Config) {
			one := &c.Servers[0]
			one.Command, one.URLs, one.Isolation, one.Protocol = "", []string{"http://127.0.0.1:1/", "http://127.0.0.1:2/"}, "class", "legacy"
		})
		defer h.close()
		time.Sleep(5 * time.Second)
		h.initialize()
		h.one(fmt.Sprintf(subscribeA, 1))
		call := func(id int) []string {
			got := h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"one_t"}}`, id))
			time.Sleep(5 * time.Second)
			return append(got, h.got()...)
		}
		call(2) // the connections of the client's class
		before := len(server.Received("resources/subscribe"))
		server.mu.Lock()
		server.gone = true
		server.mu.Unlock()
		var got []string
		for id := range 4 {
			got = append(got, call(3+id)...)
		}
		synctest.Wait()
		if n := len(server.Received("resources/subscribe")) - before; n != 1 {
			t.Errorf("the other URL was asked %d times, want once", n)
		}
		if n := strings.Count(strings.Join(got, "\n"), "resources/updated"); n != 1 {
			t.Errorf("the client heard %d times that something may have changed, want once: %v", n, got)
		}
		if n := strings.Count(strings.Join(got, "\n"), `"result"`); n != 4 {
			t.Errorf("%d calls of 4 were carried out: %v", n, got)
		}
	})(t)
}

package actors

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/pipe"
)

func TestStatus(t *testing.T) {
	inBubble(func(t *testing.T) {
		h := startStdio(t, map[string]*actortest.Server{"one": {Tools: []string{"a"}}, "two": {Refuse: errors.New("no such program")}}, nil)
		defer h.close()
		h.initialize()
		s, err := h.gateway.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !s.Ready || len(s.Failed) != 1 || s.Failed[0] != "two" || len(s.Servers) != 2 || len(s.Sessions) != 1 || s.Catalog.Tools != 1 {
			t.Errorf("status %+v", s)
		}
		if s.Servers[1].State != "waiting" || s.Servers[1].Reason != "no such program" {
			t.Errorf("server two: %+v", s.Servers[1])
		}
	})(t)
}

// A server with connections for several client classes has each metric series once, even while connections are replaced, and
// its counters never decrease.
func TestMetricSeriesOfClasses(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"ask"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[]}`)))
		}}
		h := startStdioWith(t, map[string]func(upstream.Sink) upstream.Link{"one": server.Open}, "http", Options{}, func(c *config.Config) {
			c.Servers[0].Isolation, c.Servers[0].Command, c.Servers[0].URLs = "class", "", []string{"http://fake.test/mcp"}
		})
		defer h.close()
		h.waitReady()
		for range 2 {
			if err := h.gateway.Act(t.Context(), status.Action{Verb: "restart", Server: "one"}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		got := h.send(modernCall(1, `{"elicitation":{"form":{}}}`, ""), modernCall(2, `{"sampling":{}}`, ""))
		if time.Sleep(time.Minute); len(got)+len(h.received()) != 2 {
			t.Fatal("the calls were not answered")
		}
		for _, restarts := range []string{"2", "3"} { // after the third restart, classes have no connection until their next call
			s, err := h.gateway.Status(t.Context())
			if err != nil || restarts == "2" && len(s.Backends) < 3 {
				t.Fatalf("%d connections, %v; want one for each class and one for the catalog", len(s.Backends), err)
			}
			var b strings.Builder
			if err := status.WriteSnapshot(&b, s); err != nil {
				t.Fatal(err)
			}
			series := map[string]string{}
			for line := range strings.Lines(b.String()) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
				if _, twice := series[name]; twice {
					t.Errorf("duplicate series: %s", line)
				}
				series[name] = value
			}
			if got := series[`goblin_backend_restarts_total{server="one",replica="0"`]; got != restarts {
				t.Errorf("%s restarts, want %s", got, restarts)
			}
			if up, ready := series[`goblin_backend_up{server="one",replica="0"`], series[`goblin_backend_connections{server="one",replica="0",state="ready"`]; up != "1" || ready != strconv.Itoa(len(s.Backends)) {
				t.Errorf("up %s, %s connections ready; want 1 and %d", up, ready, len(s.Backends))
			}
			if err := h.gateway.Act(t.Context(), status.Action{Verb: "restart", Server: "one"}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
	})(t)
}

// The console gets the catalog once, calls with IDs that actions accept, and the subscriptions. It gets no complete session ID.
func TestConsoleStatus(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"add"}, Resources: []string{"file:///a"}, Handle: func(p *pipe.Peer, f protocol.Frame, id []byte) {
			if f.Method == protocol.MethodResourcesSubscribe {
				_ = p.Send(protocol.AppendResult(nil, id, []byte("{}")))
			}
		}}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.initialize()
		items, err := h.gateway.Items(t.Context(), 0)
		if err != nil || len(items.Tools) != 1 || len(items.Resources) != 1 {
			t.Fatalf("Items: %+v, %v", items, err)
		}
		tool, resource := items.Tools[0], items.Resources[0]
		if tool.Server != "one" || tool.Public != "one_add" || tool.Original != "add" || tool.Size != -1 || !strings.Contains(tool.Raw, `"one_add"`) {
			t.Errorf("tool: %+v", tool)
		}
		if resource.Public != "resource://one/file:///a" || resource.Original != "file:///a" {
			t.Errorf("resource: %+v", resource)
		}
		if again, err := h.gateway.Items(t.Context(), items.Version); again != nil || err != nil {
			t.Errorf("Items of the version known: %+v, %v, want nil", again, err)
		}
		if s, err := h.gateway.Status(t.Context()); err != nil || s.Calls == nil || s.Subscriptions == nil {
			t.Errorf("without calls: %v, %v, %v; want empty lists, which are [] in JSON", s.Calls, s.Subscriptions, err)
		}
		h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"resource://one/file:///a"}}`)
		h.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_add","arguments":{}}}`)
		s, err := h.gateway.Status(t.Context())
		if err != nil || len(s.Calls) != 1 || len(s.Subscriptions) != 1 {
			t.Fatalf("Status: %d calls, %d subscriptions, %v", len(s.Calls), len(s.Subscriptions), err)
		}
		if sub := s.Subscriptions[0]; sub.Server != "one" || sub.URI != resource.Public || sub.OwnURI != "file:///a" || sub.Session != s.Sessions[0].ID {
			t.Errorf("subscription: %+v", sub)
		}
		for _, a := range s.Actors {
			if a.Kind == "session" && a.Name != "gateway/session/"+s.Sessions[0].ID {
				t.Errorf("an actor's name contains a complete session ID: %s", a.Name)
			}
		}
	})(t)
}

// When an operator cancels a call, its client gets an error and its server a cancellation. Actions on unknown servers and
// calls return ErrNotThere.
func TestOperatorActions(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"add"}, Handle: func(*pipe.Peer, protocol.Frame, []byte) {}} // never answers
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.initialize()
		h.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_add","arguments":{}}}`)
		s, err := h.gateway.Status(t.Context())
		if err != nil || len(s.Calls) != 1 {
			t.Fatalf("Status: %+v, %v", s, err)
		}
		id := s.Calls[0].ID
		if err := h.gateway.Act(t.Context(), status.Action{Verb: status.Cancel, Call: id}); err != nil {
			t.Fatal(err)
		}
		if got := h.received(); len(got) != 1 || !strings.Contains(got[0], `"id":2`) || !strings.Contains(got[0], "operator") {
			t.Errorf("the client got %v", got)
		}
		if n := len(server.Received("notifications/cancelled")); n != 1 {
			t.Errorf("the server got %d cancellations, want 1", n)
		}
		if err := h.gateway.Act(t.Context(), status.Action{Verb: status.Cancel, Call: id}); !errors.Is(err, status.ErrNotThere) {
			t.Errorf("cancel of a call that has ended: %v, want ErrNotThere", err)
		}
		if got := h.received(); len(got) != 0 {
			t.Errorf("a second cancel: %v", got)
		}
		for _, bad := range []string{"", "x", "session/", "session//1", "desk/9/1", "session/missing/1", id + "x"} {
			if err := h.gateway.Act(t.Context(), status.Action{Verb: status.Cancel, Call: bad}); !errors.Is(err, status.ErrNotThere) {
				t.Errorf("cancel %q: %v, want ErrNotThere", bad, err)
			}
		}
		if err := h.gateway.Act(t.Context(), status.Action{Verb: status.Restart, Server: "missing"}); !errors.Is(err, status.ErrNotThere) {
			t.Errorf("restart of an unknown server: %v", err)
		}
		if err := h.gateway.Act(t.Context(), status.Action{Verb: "dance"}); !errors.Is(err, status.ErrUnknownVerb) {
			t.Errorf("dance: %v", err)
		}
		if err := h.gateway.Act(t.Context(), status.Action{Verb: status.Restart, Server: "one"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if n := server.Opened(); n != 2 {
			t.Errorf("%d connections after a restart, want 2", n)
		}
	})(t)
}

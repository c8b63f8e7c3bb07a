package actors

import (
	"errors"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/transport"
)

func TestStatus(t *testing.T) {
	within(func(t *testing.T) {
		h := open(t, map[string]*actortest.Server{"one": {Tools: []string{"a"}}, "two": {Refuse: errors.New("no such program")}}, nil)
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

// What a console is told: the catalog once, calls with a name for actions, subscriptions, and no session's secret.
func TestWhatAConsoleIsTold(t *testing.T) {
	within(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"add"}, Resources: []string{"file:///a"}, Handle: func(p *transport.Peer, f protocol.Frame, id []byte) {
			if f.M == protocol.MethodResourcesSubscribe {
				_ = p.Send(protocol.AppendResult(nil, id, []byte("{}")))
			}
		}}
		h := open(t, map[string]*actortest.Server{"one": server}, nil)
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
			t.Errorf("Items of the version known: %+v, %v, want nothing", again, err)
		}
		if s, err := h.gateway.Status(t.Context()); err != nil || s.Calls == nil || s.Subscriptions == nil {
			t.Errorf("without calls: %v, %v, %v; in JSON that is null and not []", s.Calls, s.Subscriptions, err)
		}
		h.one(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"resource://one/file:///a"}}`)
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
				t.Errorf("an actor's name tells a session's secret: %s", a.Name)
			}
		}
	})(t)
}

// An operator cancels a call: its client gets an error, its server is told. What is not there is said to be not there.
func TestOperatorsActions(t *testing.T) {
	within(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"add"}, Handle: func(*transport.Peer, protocol.Frame, []byte) {}} // never answers
		h := open(t, map[string]*actortest.Server{"one": server}, nil)
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
		if got := h.got(); len(got) != 1 || !strings.Contains(got[0], `"id":2`) || !strings.Contains(got[0], "operator") {
			t.Errorf("the client got %v", got)
		}
		if n := len(server.Got("notifications/cancelled")); n != 1 {
			t.Errorf("the server was told %d times to cancel, want once", n)
		}
		if err := h.gateway.Act(t.Context(), status.Action{Verb: status.Cancel, Call: id}); err != nil { // it is no more: nothing happens
			t.Error(err)
		}
		if got := h.got(); len(got) != 0 {
			t.Errorf("a second cancel: %v", got)
		}
		for _, bad := range []string{"", "x", "session/", "session//1", "desk/9/1", "session/nobody/1", id + "x"} {
			if err := h.gateway.Act(t.Context(), status.Action{Verb: status.Cancel, Call: bad}); !errors.Is(err, status.ErrNotThere) {
				t.Errorf("cancel %q: %v, want ErrNotThere", bad, err)
			}
		}
		if err := h.gateway.Act(t.Context(), status.Action{Verb: status.Restart, Server: "nobody"}); !errors.Is(err, status.ErrNotThere) {
			t.Errorf("restart nobody: %v", err)
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

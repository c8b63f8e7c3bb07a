package pool

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// A pool passes on that a node has joined to the backends that reach the server, or their member of a group, through that node. It tells
// them nothing about other nodes.
func TestNodeJoinedIsPassedOn(t *testing.T) {
	ofGroup := group()
	ofGroup.Members[1].Hop = "b"
	for name, server := range map[string]config.Server{"a server": {Hop: "b"}, "a group": ofGroup} {
		for node, want := range map[string]int{"b": 1, "c": 0} {
			w := newWorld(t, config.Server{}, 3)
			w.s = newState(Options{Server: server}, w.s.self, 1)
			w.step(kernel.Started{})
			told := 0
			for _, e := range step(w.s, w.now, message.NodeJoined{Node: node}, nil) {
				if e.Msg == any(message.NodeJoined{Node: node}) {
					told++
				}
			}
			if told != want {
				t.Errorf("%s, node %s joins: told %d backends, want %d", name, node, told, want)
			}
		}
	}
}

// Only the connection of one principal to another node names the principal. The configuration is not changed.
func TestHolderOfTenant(t *testing.T) {
	ann := &message.Tenant{Key: "principal ann", Who: "ann"}
	entry := config.Server{Hop: "b", Headers: map[string]string{"X": "y"}}
	for _, c := range []struct {
		hop    string
		tenant *message.Tenant
		want   string
	}{{"b", ann, "ann"}, {"", ann, ""}, {"b", nil, ""}, {"b", &message.Tenant{Key: "headers"}, ""}} {
		entry.Hop = c.hop
		got := withHolder(&connection{tenant: c.tenant}, entry)
		if got.Headers[protocol.HeaderNodeHolder] != c.want || got.Headers["X"] != "y" {
			t.Errorf("%+v: %v", c, got.Headers)
		}
	}
	if len(entry.Headers) != 1 {
		t.Errorf("the configuration has %v", entry.Headers)
	}
}

// A connection to another node is opened by the node's name, and its failure is that of the frame.
func TestHopDialsTheNode(t *testing.T) {
	gone := errors.New("node b is gone")
	p := &pool{Options: Options{Hops: Hops{Node: "a", Dial: func(_ context.Context, node string) (net.Conn, error) {
		if node != "b" {
			t.Errorf("dials %s", node)
		}
		return nil, gone
	}}}}
	open, _ := p.openHop(config.Server{Hop: "b", URLs: []string{"https://b/s/one/mcp"}}, 0)
	events := make(chan upstream.Event, 8)
	link := open(func(_ context.Context, e upstream.Event) error { events <- e; return nil })
	link.Send(upstream.Outgoing{Ticket: 1, Frame: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), Request: true})
	late := time.After(10 * time.Second)
	for {
		select {
		case e := <-events:
			if n, is := e.(upstream.NotSent); is {
				if !errors.Is(n.Err, gone) {
					t.Error(n.Err)
				}
				link.Close(0)
				return
			}
		case <-late:
			t.Fatal("nothing was reported")
		}
	}
}

// A failure of a connection to another node that repeats is a warning once a minute. Each failure of another connection is one.
func TestRepeatedFailuresOfHop(t *testing.T) {
	for hop, want := range map[string]slog.Level{"b": slog.LevelDebug, "": slog.LevelWarn} {
		w := newWorld(t, config.Server{Hop: hop}, 1)
		conn := w.s.replicas.connections[0]
		for _, c := range []struct {
			later  time.Duration
			was    message.Phase
			detail string
			want   slog.Level
		}{
			{0, message.Ready, "gone", slog.LevelWarn},
			{time.Second, message.Handshaking, "gone", want},
			{time.Second, message.Handshaking, "refused", slog.LevelWarn},
			{time.Second, message.Handshaking, "refused", want},
			{time.Second, message.Ready, "refused", slog.LevelWarn},
			{warnHopEvery, message.Handshaking, "refused", slog.LevelWarn},
		} {
			w.now = w.now.Add(c.later)
			if got := w.s.unavailableLevel(w.now, conn, c.was, c.detail); got != c.want {
				t.Errorf("node %q, %+v: level %s", hop, c, got)
			}
		}
	}
}

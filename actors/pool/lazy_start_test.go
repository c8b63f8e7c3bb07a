package pool

import (
	"testing"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// lazyOfNodes returns a lazy server of each node, whose catalog this node does not know, and what happened in a number of pauses.
func lazyOfNodes(t *testing.T, view *cluster.View) (w *world, pauses func(n int) (asked []string, spawned int)) {
	t.Helper()
	w = newWorld(t, config.Server{}, 1)
	server := config.Server{Name: "fake", Command: "x", Startup: startupLazy, Run: config.RunEach, Queue: wide}
	w.s = newState(Options{Server: server}, w.s.self, 1)
	w.s.tenants.nodes, w.s.tenants.membership = view, w.backends[0]
	w.step(kernel.Started{})
	return w, func(n int) (asked []string, spawned int) {
		for range n {
			w.now = w.now.Add(askPause)
			for _, e := range step(w.s, w.now, catalogDue{w.s.idle.timer}, nil) {
				if m, is := e.Msg.(message.FetchCatalog); is {
					asked = append(asked, m.Incarnation)
				}
				if _, is := e.Act.(spawn); is {
					spawned++
				}
			}
		}
		return asked, spawned
	}
}

// Of the nodes of a cluster, one starts a lazy server whose catalog is unknown. The others ask it for the catalog, and start the server
// only if it never sends one.
func TestLazyServerStartsOnOneNode(t *testing.T) {
	starts := 0
	for _, self := range []string{"a", "b", "c"} {
		view := nodes("a", "b", "c")
		view.Self = view.Named(self).Incarnation
		_, pauses := lazyOfNodes(t, view)
		asked, spawned := pauses(ownAsks + 2)
		others := map[string]bool{}
		for _, incarnation := range asked {
			others[incarnation] = true
		}
		if starts += spawned; len(asked) < ownAsks || len(others) != 2 || others[view.Self] {
			t.Errorf("node %s has asked %v", self, asked)
		}
		if _, later := pauses(maxAsks); spawned+later != 1 {
			t.Errorf("node %s has started the server %d times", self, spawned+later)
		}
	}
	if starts != 1 {
		t.Errorf("%d nodes have started the server", starts)
	}
}

// A node that is alone starts the server once it is a member. A node that is not a member yet waits.
func TestLazyServerOfOneNode(t *testing.T) {
	view := nodes("a")
	view.Self = view.Named("a").Incarnation
	w, pauses := lazyOfNodes(t, cluster.NewView(view.Self, nil, nil))
	if asked, spawned := pauses(5); len(asked)+spawned > 0 {
		t.Errorf("not a member yet: asked %v, started %d times", asked, spawned)
	}
	w.step(message.NodesChanged{View: view})
	if asked, spawned := pauses(ownAsks); len(asked)+spawned > 0 {
		t.Errorf("alone, while others may join: asked %v, started %d times", asked, spawned)
	}
	if asked, spawned := pauses(1); len(asked) > 0 || spawned != 1 {
		t.Errorf("alone: asked %v, started %d times", asked, spawned)
	}
}

// A catalog of another node ends the wait. The node starts the server only when a client needs it.
func TestLazyServerWithCatalogOfAPeer(t *testing.T) {
	view := nodes("a", "b")
	view.Self = view.Named("a").Incarnation
	w, pauses := lazyOfNodes(t, view)
	known := &message.KnownCatalog{Info: &message.ServerInfo{Version: "2025-11-25"}, At: w.now}
	known.Lists[protocol.Tools].Items = [][]byte{[]byte("a")}
	w.step(message.PeerCatalog{Known: known})
	if asked, spawned := pauses(2 * maxAsks); len(asked)+spawned > 0 || !w.s.settled {
		t.Errorf("asked %v, started %d times, settled %v", asked, spawned, w.s.settled)
	}
	if _, spawns := told[message.Drain, spawn](w, message.Dispatch{Call: message.CallRef{Seq: 1}, Request: &message.Request{Server: "fake", Caller: &message.Caller{}}}); len(spawns) != 1 {
		t.Errorf("a call has started the server %d times", len(spawns))
	}
}

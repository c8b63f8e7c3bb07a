package pool

import (
	"testing"

	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// Lists are fetched from the leader while it is ready. A client that waits for a new list is answered when clients can see
// it, or at once if no backend is ready.
func TestListsAreFetchedFromTheReadyLeader(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 2)
	fetched := func(msg any) []message.Fetch {
		found, _ := told[message.Fetch, spawn](w, msg)
		return found
	}
	for _, p := range []message.Phase{message.Connecting, message.Syncing} {
		w.phase(1, p)
		if got := fetched(message.ListServed{Kind: protocol.Prompts}); len(got) != 0 {
			t.Errorf("%s: fetched %v", p, got)
		}
		if got, _ := told[message.RefreshResult, spawn](w, message.Refresh{Kind: protocol.Prompts, Seq: 1}); len(got) != 1 {
			t.Errorf("%s: the client waits although no list can be fetched", p)
		}
	}
	w.phase(1, message.Ready)
	if got := fetched(message.ListServed{Kind: protocol.Prompts}); len(got) != 1 || got[0] != (message.Fetch{Kind: protocol.Prompts}) {
		t.Errorf("ready: fetched %v", got)
	}
	if got := fetched(message.Refresh{Kind: protocol.Tools, Seq: 2}); len(got) != 1 || got[0] != (message.Fetch{Kind: protocol.Tools, Wanted: true}) {
		t.Errorf("a client waits: fetched %v", got)
	}
	if confirms, _ := told[message.Confirm, spawn](w, message.FetchResult{Kind: protocol.Prompts}); len(confirms) != 0 {
		t.Errorf("another list was fetched: asked to confirm %v", confirms)
	}
	confirms, _ := told[message.Confirm, spawn](w, message.FetchResult{Kind: protocol.Tools})
	if len(confirms) != 1 {
		t.Fatalf("the list was fetched: asked to confirm %v, want once", confirms)
	}
	if got, _ := told[message.RefreshResult, spawn](w, message.ConfirmResult{Key: confirms[0].Key}); len(got) != 1 || got[0].Seq != 2 {
		t.Errorf("visible: answered %v, want the client that waited", got)
	}
	w.step(message.Refresh{Kind: protocol.Tools, Seq: 3})
	lost := message.BackendChanged{Backend: w.backends[1], Replica: 1, Phase: message.Waiting}
	if got, _ := told[message.RefreshResult, spawn](w, lost); len(got) != 1 || got[0].Seq != 3 {
		t.Errorf("lost: answered %v, want the client that waited", got)
	}
}

// A reload that configures another server under this name changes nothing for clients while the previous server runs, even
// if the new server's catalog is known.
func TestListsStayUntilTheNewServerRuns(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue, Command: "one"}, 1)
	w.phase(0, message.Syncing)
	w.lists(0, "a")
	w.ready(0)
	known := &message.KnownCatalog{Info: &message.ServerInfo{}, At: w.now}
	known.Lists[protocol.Tools].Items = [][]byte{[]byte("b")}
	next := w.s.server
	next.Command = "two"
	lists, spawns := told[message.ServerCatalog, spawn](w, message.Reconfigure{Server: next, Transport: true, Known: known})
	if len(lists) != 0 || len(spawns) != 1 {
		t.Errorf("the reload published %d lists and started %d backends, want 0 and 1", len(lists), len(spawns))
	}
	if w.s.catalog.remembered.catalog != known {
		t.Error("a restart of the pool would not use the new server's known catalog")
	}
}

// BackendChanged for a ready connection reports either a new reason or a new incarnation. For a new incarnation, the
// catalog is confirmed and the resources are subscribed again.
func TestReadyAgain(t *testing.T) {
	w := newSubscribers(t, 1)
	w.subscribe(0, 1, "a")
	w.answer("a", true)
	w.told = nil
	ready := message.BackendChanged{Backend: w.backends[0], Phase: message.Ready, Reason: "polls its lists", Info: &message.ServerInfo{}}
	if confirms, _ := told[message.Confirm, spawn](w.world, ready); len(confirms) != 0 {
		t.Error("the same connection was confirmed again")
	}
	if r := w.s.report(); r.Public != "polls its lists" {
		t.Errorf("reason %q", r.Public)
	}
	ready.Incarnation++
	if confirms, _ := told[message.Confirm, spawn](w.world, ready); len(confirms) != 1 {
		t.Error("a new connection was not confirmed")
	}
	w.do(retryDue{})
	if sub := w.s.subscriptions.byKey[subKey{uri: "a"}]; sub.conn != nil || sub.query == 0 {
		t.Error("the resource was not subscribed again on the new connection")
	}
}

package registry

import (
	"testing"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
)

// A node tells the others how often its catalog has changed. A change at another node counts as a change of all lists of that
// kind, once, also of those that a project shows. It is not reported to the other nodes again.
func TestCatalogInCluster(t *testing.T) {
	system := kernel.New(kernel.Options{})
	defer actortest.Stop(t, system)
	nodes := actortest.NewProbe(system, "membership").Reference
	w := newWorld(t)
	w.s.nodes = nodes
	var reported [][]uint64
	step := func(msg any) {
		w.pass(time.Minute)
		for _, e := range w.s.step(w.now, msg, nil) {
			if m, is := e.Msg.(message.OwnCatalogChanged); is && e.To == nodes {
				reported = append(reported, m.Generations)
			}
		}
		w.known = w.s.snapshot
	}
	step(message.ServerCatalog{Server: "s", Kind: protocol.Tools, Items: items("c")})
	step(message.ServerCatalog{Server: "other", Kind: protocol.Prompts, Items: items("p")})
	if len(reported) != 2 || reported[1][protocol.Tools] != 1 || reported[1][protocol.Prompts] != 1 || reported[1][protocol.Resources] != 0 {
		t.Errorf("reported %v", reported)
	}
	before := w.s.snapshot
	peers := message.PeerCatalogsChanged{}
	peers.Kinds[protocol.Tools] = true
	step(peers)
	if after := w.s.snapshot; after.Generation[protocol.Tools] == before.Generation[protocol.Tools] || after.Generation[protocol.Prompts] != before.Generation[protocol.Prompts] {
		t.Errorf("generations %v, before %v", after.Generation, before.Generation)
	}
	one, _ := w.s.snapshot.View(catalog.Key{Server: "s"})
	was, _ := before.View(catalog.Key{Server: "s"})
	if one.Generation[protocol.Tools] == was.Generation[protocol.Tools] {
		t.Error("the view of one server has not changed")
	}
	later := w.s.snapshot
	step(message.SetServerRules{Server: catalog.Server{Name: "other", Order: 1, Instructions: "x"}})
	if w.s.snapshot.Generation != later.Generation {
		t.Error("the change at another node counts twice")
	}
	if len(reported) != 2 {
		t.Errorf("reported %v, of which only two are changes of this node", reported)
	}
}

package pool

import (
	"testing"

	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// Equal lists of replicas, and of one replica after another fetch, are in memory once.
func TestEqualListsAreShared(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 2)
	list := func(i int, name string) [][]byte {
		w.step(message.Listed{Backend: w.backends[i], Kind: protocol.Tools, Items: [][]byte{[]byte(`{"name":"` + name + `"}`)}})
		return w.s.replicas.connections[i].catalog.lists[protocol.Tools].items
	}
	first := list(0, "a")
	for what, items := range map[string][][]byte{"the other replica's": list(1, "a"), "the next of the same": list(0, "a")} {
		if &items[0][0] != &first[0][0] {
			t.Errorf("%s is in memory again", what)
		}
	}
	if items := list(0, "b"); &items[0][0] == &first[0][0] || string(items[0]) != `{"name":"b"}` {
		t.Errorf("another list is %s", items[0])
	}
}

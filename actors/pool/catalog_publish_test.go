package pool

import (
	"testing"

	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// Equal lists of different replicas, and of one replica after another fetch, share memory.
func TestEqualListsAreShared(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 2)
	list := func(i int, name string) [][]byte {
		w.step(message.Listed{Backend: w.backends[i], Kind: protocol.Tools, Items: [][]byte{[]byte(`{"name":"` + name + `"}`)}})
		return w.s.replicas.connections[i].catalog.lists[protocol.Tools].items
	}
	first := list(0, "a")
	for what, items := range map[string][][]byte{"list of the other replica": list(1, "a"), "next list of the same replica": list(0, "a")} {
		if &items[0][0] != &first[0][0] {
			t.Errorf("%s has a copy in memory", what)
		}
	}
	if items := list(0, "b"); &items[0][0] == &first[0][0] || string(items[0]) != `{"name":"b"}` {
		t.Errorf("changed list: %s", items[0])
	}
}

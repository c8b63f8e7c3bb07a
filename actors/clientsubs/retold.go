package clientsubs

import (
	"goblin-actor/actors/catalog"
	"goblin-actor/protocol"
)

// Retold is what a client has been told of, in generations of the view that it has from now on: of a kind that it was told of and that both
// views show alike that view's, else 0, which differs from every generation.
func Retold(told [protocol.ItemKinds]uint64, was, now *catalog.View) (again [protocol.ItemKinds]uint64) {
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		if told[kind] == was.Generation[kind] && now.Lists(kind, was) {
			again[kind] = now.Generation[kind]
		}
	}
	return again
}

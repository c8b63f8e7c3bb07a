package clientsubs

import (
	"slices"

	"goblin-actor/actors/catalog"
	"goblin-actor/protocol"
)

// Announced holds, for each kind of list, the generation that the client was last notified of.
type Announced [protocol.ItemKinds]uint64

// Due returns the kinds of lists in view that have changed since they were announced, and marks them as announced. Resources and
// templates share one notification, that of resources.
func (a *Announced) Due(view *catalog.View) (kinds []protocol.ItemKind) {
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		changed := a[kind] != view.Generation[kind]
		a[kind] = view.Generation[kind]
		if kind == protocol.Templates {
			kind = protocol.Resources
		}
		if changed && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// Carry updates a when the view now replaces was, a view of the same snapshot. A kind with unannounced changes, or whose lists differ
// in the two views, gets 0, which differs from every generation.
func (a *Announced) Carry(was, now *catalog.View) {
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		if a[kind] == was.Generation[kind] && now.SameList(kind, was) {
			a[kind] = now.Generation[kind]
			continue
		}
		a[kind] = 0
	}
}

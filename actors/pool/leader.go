package pool

import (
	"bytes"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// itemList is what a replica has listed of one kind, the newest.
type itemList struct {
	came   bool
	items  [][]byte
	silent bool // the server does not say when it changes
}

// leader is the replica whose catalog clients see and that is asked for updates: the first that is ready, else the first
// that syncs. One that waits for its successor leads only as long as no other is ready.
func (s *state) leader() *slot {
	var ready, syncing *slot
	for _, sl := range s.slots {
		switch {
		case sl.leaving || !sl.main:
		case sl.phase == message.Ready && (ready == nil || sl.leadsBefore(ready)):
			ready = sl
		case sl.phase == message.Syncing && (syncing == nil || sl.replica < syncing.replica):
			syncing = sl
		}
	}
	if ready != nil {
		return ready
	}
	return syncing
}

// leadsBefore reports whether of two that are ready this one leads.
func (sl *slot) leadsBefore(other *slot) bool {
	if sl.retiring != other.retiring {
		return other.retiring
	}
	return sl.replica < other.replica
}

// lead follows the leader when that may have changed: clients see what it has listed, all of it, whoever led when that came,
// and it is asked for the updates that nobody tells of.
func (s *state) lead(out []kernel.Effect) []kernel.Effect {
	l := s.leader()
	if l != s.shown {
		s.shown = l
		out = s.giveUpRefreshes(out)
		for kind := range protocol.ItemKind(protocol.ItemKinds) {
			if l != nil && l.lists[kind].came {
				out = s.show(kind, &l.lists[kind], false, out)
			}
		}
	}
	if l != nil && l.phase == message.Ready && (l.info != s.info || s.cached && l.hasListed()) {
		s.info, s.cached = l.info, s.cached && !l.hasListed()
		out = s.announce(out)
	}
	return s.askForLostUpdates(out)
}

func (s *state) show(kind protocol.ItemKind, l *itemList, asked bool, out []kernel.Effect) []kernel.Effect {
	if s.counts[kind] = len(l.items); kind == protocol.Tools {
		out = s.compareTools(l.items, out)
	}
	return append(out, kernel.Tell(s.registry, message.ServerCatalog{Server: s.server.Name, Kind: kind, Items: l.items, Asked: asked, Silent: l.silent}))
}

// hasListed reports whether every list of the replica has come: one that could not be fetched is fetched again later.
func (sl *slot) hasListed() bool {
	for kind := range sl.lists {
		if !sl.lists[kind].came {
			return false
		}
	}
	return true
}

// listed keeps what a replica lists, and passes the leader's lists on.
func (s *state) listed(now time.Time, m message.Listed, out []kernel.Effect) []kernel.Effect {
	sl := s.slotOf(m.Backend)
	if sl == nil || !sl.main {
		return out
	}
	sl.lists[m.Kind] = itemList{true, s.share(m.Kind, m.Items), m.Silent}
	if sl != s.leader() {
		if m.Kind == protocol.Tools {
			return s.compareReplica(sl, out)
		}
		return out
	}
	out = s.show(m.Kind, &sl.lists[m.Kind], m.Asked, out)
	if s.cached { // perhaps the last one that was missing
		out = s.lead(out)
	}
	return s.rememberCatalog(now, out)
}

// share returns a list that is equal and here already: the replica's own of before, which the catalog has, or another's, as
// those of replicas are equal, or the one that is remembered. So they are in memory once.
func (s *state) share(kind protocol.ItemKind, items [][]byte) [][]byte {
	if known := s.remembered.catalog; known != nil && slices.EqualFunc(known.Lists[kind].Items, items, bytes.Equal) {
		return known.Lists[kind].Items
	}
	for _, sl := range s.slots {
		if l := sl.lists[kind]; l.came && slices.EqualFunc(l.items, items, bytes.Equal) {
			return l.items
		}
	}
	return items
}

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
	complete bool
	items    [][]byte
	silent   bool // the server does not say when it changes
}

// lead follows the leader when that may have changed: clients see what it has listed, all of it, whoever led when that came,
// and it is asked for the updates that nobody tells of.
func (s *state) followLeader(out []kernel.Effect) []kernel.Effect {
	l := s.replicas.leader()
	if l != s.catalog.published {
		s.catalog.published = l
		out = s.failFetches(out)
		for kind := range protocol.ItemKind(protocol.ItemKinds) {
			if l != nil && l.catalog.lists[kind].complete {
				out = s.publishList(kind, &l.catalog.lists[kind], false, out)
			}
		}
	}
	if l != nil && l.phase == message.Ready && (l.catalog.info != s.catalog.info || s.catalog.fromMemory && l.hasAllLists()) {
		s.catalog.info, s.catalog.fromMemory = l.catalog.info, s.catalog.fromMemory && !l.hasAllLists()
		out = s.announce(out)
	}
	return s.restoreSubscriptions(out)
}

func (s *state) publishList(kind protocol.ItemKind, l *itemList, asked bool, out []kernel.Effect) []kernel.Effect {
	if s.catalog.counts[kind] = len(l.items); kind == protocol.Tools {
		out = s.compareAllTools(l.items, out)
	}
	return append(out, kernel.Tell(s.registry, message.ServerCatalog{Server: s.server.Name, Kind: kind, Items: l.items, Asked: asked, Silent: l.silent}))
}

// hasListed reports whether every list of the replica has come: one that could not be fetched is fetched again later.
func (conn *connection) hasAllLists() bool {
	for kind := range conn.catalog.lists {
		if !conn.catalog.lists[kind].complete {
			return false
		}
	}
	return true
}

// listed keeps what a replica lists, and passes the leader's lists on.
func (s *state) listed(now time.Time, m message.Listed, out []kernel.Effect) []kernel.Effect {
	conn := s.replicas.byBackend(m.Backend)
	if conn == nil || !conn.main {
		return out
	}
	conn.catalog.lists[m.Kind] = itemList{true, s.shareList(m.Kind, m.Items), m.Silent}
	if conn != s.replicas.leader() {
		if m.Kind == protocol.Tools {
			return s.compareTools(conn, out)
		}
		return out
	}
	out = s.publishList(m.Kind, &conn.catalog.lists[m.Kind], m.Asked, out)
	if s.catalog.fromMemory { // perhaps the last one that was missing
		out = s.followLeader(out)
	}
	return s.rememberCatalog(now, out)
}

// share returns a list that is equal and here already: the replica's own of before, which the catalog has, or another's, as
// those of replicas are equal, or the one that is remembered. So they are in memory once.
func (s *state) shareList(kind protocol.ItemKind, items [][]byte) [][]byte {
	if known := s.catalog.remembered.catalog; known != nil && slices.EqualFunc(known.Lists[kind].Items, items, bytes.Equal) {
		return known.Lists[kind].Items
	}
	for _, conn := range s.replicas.connections {
		if l := conn.catalog.lists[kind]; l.complete && slices.EqualFunc(l.items, items, bytes.Equal) {
			return l.items
		}
	}
	return items
}

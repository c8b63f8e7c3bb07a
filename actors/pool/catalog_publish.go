package pool

import (
	"bytes"
	"log/slog"
	"slices"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

// itemList is a replica's latest list of one item kind.
type itemList struct {
	complete bool // the list is known; false = it has not been fetched
	items    [][]byte
	silent   bool // the server does not announce changes
}

// followLeader publishes the lists of a new leader, including those it sent before it led, and restores the
// subscriptions that have no connection. It is called whenever the leader may have changed.
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

// publishList sends a list to the registry. announced says whether the server announced the change. A list of tools is
// also compared with those of the other replicas.
func (s *state) publishList(kind protocol.ItemKind, l *itemList, announced bool, out []kernel.Effect) []kernel.Effect {
	if s.catalog.counts[kind] = len(l.items); kind == protocol.Tools {
		out = s.compareAllTools(l.items, out)
	}
	return append(out, kernel.Tell(s.registry, message.ServerCatalog{Server: s.server.Name, Kind: kind, Items: l.items, Announced: announced, Silent: l.silent}))
}

// hasAllLists reports whether the replica has sent every list.
func (conn *connection) hasAllLists() bool {
	for kind := range conn.catalog.lists {
		if !conn.catalog.lists[kind].complete {
			return false
		}
	}
	return true
}

// listed stores a replica's list, and publishes it if the replica leads. The tools of other replicas are compared with
// the published ones.
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
	out = s.publishList(m.Kind, &conn.catalog.lists[m.Kind], m.Announced, out)
	if s.catalog.fromMemory { // this may have been the last list that was missing
		out = s.followLeader(out)
	}
	return s.rememberCatalog(now, out)
}

// shareList returns a list that equals items and is already in memory (a replica's list or the remembered one). If there
// is none, it returns items itself. This way, equal lists are stored once.
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

// announce sends the server's name, settings and state to the registry.
func (s *state) announce(out []kernel.Effect) []kernel.Effect {
	server := catalog.Server{Name: s.server.Name, Order: s.server.Order, Pool: s.self, Life: s.life, Rules: s.server, Settled: s.settled}
	if s.catalog.fromMemory {
		server.State = catalog.Cached
	}
	s.logins.announced, server.Login = s.currentLoginNeed()
	if s.catalog.info != nil {
		server.Instructions, server.Capabilities, server.Protocol = s.catalog.info.Instructions, s.catalog.info.Capabilities, s.catalog.info.Version
	}
	return append(out, kernel.Tell(s.registry, message.SetServerRules{Server: server}))
}

// catalogConfirmed handles the registry's confirmation that clients see the remembered catalog, a list that was fetched
// again, or a backend's lists. A backend is reported as ready only when clients see its lists, since calls of a newly
// listed name fail until then.
func (s *state) catalogConfirmed(m message.ConfirmResult, out []kernel.Effect) []kernel.Effect {
	if m.Key == rememberedPublished {
		return append(out, kernel.WakeAfter(headStart, clientsServed{}))
	}
	out = s.answerRefreshes(m.Key, out)
	for _, conn := range s.replicas.connections {
		if conn.catalog.confirm != m.Key || conn.phase != message.Ready {
			continue
		}
		conn.catalog.visible = true
		out = s.loginDecided(s.followLeader(s.drainReplaced(conn, out)))
		return append(out, kernel.Log(slog.LevelInfo, status.LogServerReady, s.logAttrs(conn, "protocol", conn.catalog.info.Version, "incarnation", conn.incarnation)...))
	}
	return out
}

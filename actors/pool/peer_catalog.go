package pool

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// peerCatalog publishes what another node of the cluster knows about the server, until the server sends its lists. It has no effect if
// this node knows the server, or has some of its lists.
func (s *state) peerCatalog(m message.PeerCatalog, out []kernel.Effect) []kernel.Effect {
	if s.knowsCatalog() || s.fault != "" || s.server.HasLogins() || s.catalog.published != nil || s.hasLists() {
		return out
	}
	s.catalog.remembered.catalog, s.catalog.remembered.fromPeer = m.Known, true
	s.settled = s.settled || s.isLazy() && s.isStopped()
	return s.announce(s.publishRemembered(out))
}

// hasLists reports whether a connection has sent a list.
func (s *state) hasLists() bool {
	for _, conn := range s.replicas.connections {
		for kind := range conn.catalog.lists {
			if conn.catalog.lists[kind].complete {
				return true
			}
		}
	}
	return false
}

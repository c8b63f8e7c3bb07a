package pool

import (
	"strconv"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
)

// In a cluster, one node starts a lazy server whose catalog no node knows, to read the catalog. All nodes choose that node by the same hash.
// The others ask it for the catalog. A call still starts the server on the node that receives it.

const (
	askPause = 250 * time.Millisecond // between two looks for the catalog of a lazy server
	maxAsks  = 40                     // then the node starts the server itself
	ownAsks  = 6                      // as maxAsks, for the node that starts the server: others may join at this moment, or know the catalog
)

// catalogDue reports that another node may know the catalog of a lazy server now.
type catalogDue struct{ timer uint64 }

// asksNodes reports whether another node may have the catalog that this one lacks. A catalog that depends on a login is not shared.
func (s *state) asksNodes() bool {
	return s.isLazy() && !s.knowsCatalog() && s.tenants.nodes != nil && !s.tenants.membership.IsZero() && s.server.Run == config.RunEach && !s.server.HasLogins()
}

// startFirst starts a lazy server whose catalog is unknown, unless another node does so.
func (s *state) startFirst(now time.Time, out []kernel.Effect) []kernel.Effect {
	if !s.asksNodes() {
		return s.startUnlessLazy(now, out)
	}
	s.idle.timer++
	return append(out, kernel.WakeAfter(askPause, catalogDue{s.idle.timer}))
}

// catalogDue starts the server if this node is the one to do so, or if the other node has not sent the catalog in time. Otherwise it asks
// for the catalog. It does nothing if the server was started or its catalog has arrived.
func (s *state) catalogDue(now time.Time, m catalogDue, out []kernel.Effect) []kernel.Effect {
	if m.timer != s.idle.timer || !s.isStopped() || !s.asksNodes() {
		return out
	}
	s.idle.waits++
	nodes, key := s.tenants.nodes, "start "+s.server.Name
	if nodes.Ready() {
		s.idle.asks++
		first := nodes.First(key)
		mine := first != nil && nodes.Mine(first.Incarnation)
		if mine && s.idle.asks > ownAsks {
			return s.spawnReplicas(now, s.restartIdleTimer(now, out))
		}
		other := first
		if mine || s.idle.asks%2 == 0 { // any other, since the first one may have joined after another has started the server
			other = nodes.Other(key + " " + strconv.Itoa(s.idle.asks))
		}
		if other != nil {
			out = append(out, kernel.Tell(s.tenants.membership, message.FetchCatalog{Server: s.server.Name, Incarnation: other.Incarnation}))
		}
	}
	if s.idle.waits >= maxAsks {
		return s.spawnReplicas(now, s.restartIdleTimer(now, out))
	}
	return s.startFirst(now, out)
}

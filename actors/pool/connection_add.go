package pool

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// addConnection opens another connection in two cases: a class of clients has none at a replica that it may use, or
// every leased connection is busy and maxBackends allows more.
func (s *state) addConnection(now time.Time, w target, q *queued, out []kernel.Effect) []kernel.Effect {
	switch {
	case s.fault != "" || s.replicas.leader() == nil && !s.canAddWithoutLeader(w) || w.conn != nil:
		return out
	case w.tenant != "":
		return s.addTenantConnection(now, w, requester{q.Request.Tenant, q.Request.Modern, q.Call.Holder}, out)
	}
	n, coming := 0, false
	count := map[int]int{} // by replica
	for _, conn := range s.replicas.connections {
		if s.matchesClass(w, conn) && !conn.leaving {
			n++
			count[conn.replica]++
			coming = coming || !conn.attempts.everReady && !conn.attempts.everFailed
		}
	}
	fewest := -1
	for replica := range s.replicaCount() {
		entry, _, runs := s.server.Replica(replica)
		if !runs {
			continue
		}
		if can, legacy := s.classFor(w, replica); count[replica] == 0 && (can != message.CanAll || legacy) { // the first of its class
			out = s.spawnConnection(now, &connection{replica: replica, announces: can, legacy: legacy}, out)
			coming = true
		}
		if w.allowsReplica(replica, entry.Labels) && (fewest < 0 || count[replica] < count[fewest]) {
			fewest = replica
		}
	}
	if s.isLeased() && !coming && n < s.server.MaxBackends && fewest >= 0 && s.pausedUntil(now, w).IsZero() {
		can, legacy := s.classFor(w, fewest)
		out = s.spawnConnection(now, &connection{replica: fewest, announces: can, legacy: legacy}, out)
	}
	return out
}

// canAddLater reports whether a connection for the target will be opened when the first call for it gets its turn. It
// cannot be opened now, because maxConcurrent allows no further call.
func (s *state) canAddLater(w target) bool {
	l := s.replicas.leader()
	if s.hasRoom() || s.fault != "" || w.conn != nil || l == nil || l.phase != message.Ready {
		return false
	}
	for _, conn := range s.replicas.connections {
		if !conn.leaving && s.matchesClass(w, conn) {
			return false
		}
	}
	if s.isFull(w) && s.leastRecentlyUsed(w.tenant) == nil {
		return false
	}
	for replica := range s.replicaCount() {
		entry, _, runs := s.server.Replica(replica)
		if runs && w.allowsReplica(replica, entry.Labels) && !s.replicas.tools.deviating[replica][w.tool] {
			return true
		}
	}
	return false
}

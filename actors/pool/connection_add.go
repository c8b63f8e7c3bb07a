package pool

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// addConnection opens connections for a call that no connection can take now. If the call's class of clients has
// connections of its own, one is opened at each replica that has none. If connections are leased, one more is opened
// at the replica with the fewest, up to maxBackends, unless one is still starting or all suitable ones are paused. For a
// tenant, see addTenantConnection.
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

// canAddLater reports whether a connection for the target will be opened as soon as maxConcurrent allows another call.
// It returns false if another call is allowed now, since addConnection has then opened what it can.
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

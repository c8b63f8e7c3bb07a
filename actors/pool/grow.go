package pool

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// grow starts another connection when the calls of a class have none yet at a replica that they may use, or when every leased one is
// busy and maxBackends allows more.
func (s *state) grow(now time.Time, w wanted, q *queued, out []kernel.Effect) []kernel.Effect {
	switch {
	case s.fault != "" || s.leader() == nil && !s.mayGrowWithout(w) || w.at != nil:
		return out
	case w.tenant != "":
		return s.growFor(now, w, asker{q.Request.Tenant, q.Request.Modern, q.Call.Holder}, out)
	}
	n, coming := 0, false
	count := map[int]int{} // by replica
	for _, sl := range s.slots {
		if s.serves(w, sl) && !sl.leaving {
			n++
			count[sl.replica]++
			coming = coming || !sl.wasReady && !sl.hasFailed
		}
	}
	fewest := -1
	for replica := range s.replicas() {
		entry, _, runs := s.server.Replica(replica)
		if !runs {
			continue
		}
		if can, legacy := s.classOf(w, replica); count[replica] == 0 && (can != message.CanAll || legacy) { // the first of its class
			out = s.spawnSlot(now, &slot{replica: replica, can: can, legacy: legacy}, out)
			coming = true
		}
		if w.mayBe(replica, entry.Labels) && (fewest < 0 || count[replica] < count[fewest]) {
			fewest = replica
		}
	}
	if s.isLeased() && !coming && n < s.server.MaxBackends && fewest >= 0 && s.heldBack(now, w).IsZero() {
		can, legacy := s.classOf(w, fewest)
		out = s.spawnSlot(now, &slot{replica: fewest, can: can, legacy: legacy}, out)
	}
	return out
}

// growsLater reports whether a connection is made for such calls when the first of them has its turn: they have none yet, and as many
// calls run as may.
func (s *state) growsLater(w wanted) bool {
	l := s.leader()
	if s.hasRoomForMore() || s.fault != "" || w.at != nil || l == nil || l.phase != message.Ready {
		return false
	}
	for _, sl := range s.slots {
		if !sl.leaving && s.serves(w, sl) {
			return false
		}
	}
	if s.isFull(w) && s.idlest(w.tenant) == nil {
		return false
	}
	for replica := range s.replicas() {
		entry, _, runs := s.server.Replica(replica)
		if runs && w.mayBe(replica, entry.Labels) && !s.deviations[replica][w.tool] {
			return true
		}
	}
	return false
}

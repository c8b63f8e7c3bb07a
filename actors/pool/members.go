package pool

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
)

// memberOf is the name of the entry of a group that the slot's connection is of; "" = the server is no group.
func (s *state) memberOf(sl *slot) string {
	if len(s.server.Members) == 0 {
		return ""
	}
	entry, _, _ := s.server.Replica(sl.replica)
	return entry.Name
}

// whose names a connection in the log, before what else is said of it.
func (s *state) whose(sl *slot, rest ...any) []any {
	list := []any{"replica", sl.replica}
	if member := s.memberOf(sl); member != "" {
		list = append(list, "member", member)
	}
	return append(list, rest...)
}

// settingsOf is what the backend of a replica goes by: how it is reached is its member's, what it is called to clients and how long
// they wait is the group's.
func (s *state) settingsOf(replica int) config.Server {
	if len(s.server.Members) == 0 {
		return s.server
	}
	entry, _, _ := s.server.Replica(replica)
	settings := *entry
	settings.Name, settings.Timeout, settings.MaxTimeout, settings.Retry = s.server.Name, s.server.Timeout, s.server.MaxTimeout, s.server.Retry
	return settings
}

// tellSettings tells the backends what has changed that leaves their connections as they are.
func (s *state) tellSettings(out []kernel.Effect) []kernel.Effect {
	for _, sl := range s.slots {
		entry, _, _ := s.server.Replica(sl.replica)
		sl.labels = entry.Labels
		out = append(out, kernel.Tell(sl.ref, message.NewServer{Server: s.settingsOf(sl.replica)}))
	}
	return out
}

// replaceChanged makes the connections of those replicas anew that have changed, or of those members of a group; those of the others
// stay. Another number of replicas changes none of them.
func (s *state) replaceChanged(now time.Time, before config.Server, out []kernel.Effect) []kernel.Effect {
	kept := map[int]bool{}
	for _, sl := range s.slots {
		old, was, ran := before.Replica(sl.replica)
		next, is, runs := s.server.Replica(sl.replica)
		if ran && runs && !sl.retiring && !sl.leaving && config.SameReplica(old, was, next, is) {
			kept[sl.replica] = kept[sl.replica] || sl.main
		} else {
			out = s.retire(sl, out)
		}
	}
	if len(kept) == 0 {
		s.forgetDoubt()
	}
	out = s.spawnMissing(now, kept, out)
	return s.pump(now, s.gone(now, s.relieveSurplus(s.tellSettings(out))))
}

// spawnMissing starts the backends of the replicas that are to be and are not kept.
func (s *state) spawnMissing(now time.Time, kept map[int]bool, out []kernel.Effect) []kernel.Effect {
	for replica := range s.replicas() {
		if !s.runs(replica) || kept[replica] {
			continue
		}
		if !s.retires(replica) {
			s.forgetReplica(replica)
		}
		out = s.spawnSlot(now, &slot{replica: replica, main: true, can: message.CanAll}, out)
	}
	for replica := range s.deviations {
		if !kept[replica] && !s.retires(replica) {
			delete(s.deviations, replica)
		}
	}
	return out
}

// dismiss has a slot take no more calls, and go when those that it has are over.
func (s *state) dismiss(sl *slot, out []kernel.Effect) []kernel.Effect {
	sl.leaving = true
	s.updatesLost(sl)
	s.forgetTenant(sl.tenant)
	return append(out, kernel.Tell(sl.ref, message.Drain{}))
}

// forgetReplica forgets what was found out of a replica that is another one now.
func (s *state) forgetReplica(replica int) {
	delete(s.modern, replica)
	delete(s.modernOnly, replica)
	delete(s.deviations, replica)
}

// restartMember makes the connections of one member anew.
func (s *state) restartMember(now time.Time, name string, out []kernel.Effect) []kernel.Effect {
	kept := map[int]bool{}
	for replica := range s.replicas() {
		entry, _, _ := s.server.Replica(replica)
		kept[replica] = entry.Name != name
	}
	for _, sl := range s.slots {
		if s.memberOf(sl) == name {
			out = s.retire(sl, out)
		}
	}
	return s.gone(now, s.spawnMissing(now, kept, out))
}

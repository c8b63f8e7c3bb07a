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

// replaceMembers makes the connections of those members anew that have changed; those of the others stay.
func (s *state) replaceMembers(now time.Time, before config.Server, out []kernel.Effect) []kernel.Effect {
	kept := map[int]bool{}
	for _, sl := range s.slots {
		old, was, ran := before.Replica(sl.replica)
		next, is, runs := s.server.Replica(sl.replica)
		switch {
		case sl.leaving:
		case ran && runs && was == is && old.SameConnection(next):
			kept[sl.replica] = kept[sl.replica] || sl.main
		default:
			out = s.dismiss(sl, out)
		}
	}
	for replica := range s.replicas() {
		if _, _, runs := s.server.Replica(replica); runs && !kept[replica] {
			s.forgetReplica(replica)
			out = s.spawnSlot(now, &slot{replica: replica, main: true, can: message.CanAll}, out)
		}
	}
	for replica := range s.deviations {
		if !kept[replica] {
			delete(s.deviations, replica)
		}
	}
	return s.pump(now, s.lead(s.tellSettings(out)))
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
	again := map[int]bool{}
	for _, sl := range s.slots {
		if !sl.leaving && s.memberOf(sl) == name {
			again[sl.replica] = again[sl.replica] || sl.main
			out = s.dismiss(sl, out)
		}
	}
	for replica := range s.replicas() {
		if again[replica] {
			s.forgetReplica(replica)
			out = s.spawnSlot(now, &slot{replica: replica, main: true, can: message.CanAll}, out)
		}
	}
	return s.lead(out)
}

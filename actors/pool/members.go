package pool

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
)

// memberOf is the name of the entry of a group that the slot's connection is of; "" = the server is no group.
func (s *state) memberOf(conn *connection) string {
	if len(s.server.Members) == 0 {
		return ""
	}
	entry, _, _ := s.server.Replica(conn.replica)
	return entry.Name
}

// whose names a connection in the log, before what else is said of it.
func (s *state) logAttrs(conn *connection, rest ...any) []any {
	list := []any{"replica", conn.replica}
	if member := s.memberOf(conn); member != "" {
		list = append(list, "member", member)
	}
	return append(list, rest...)
}

// settingsOf is what the backend of a replica goes by: how it is reached is its member's, what it is called to clients and how long
// they wait is the group's.
func (s *state) backendConfig(replica int) config.Server {
	if len(s.server.Members) == 0 {
		return s.server
	}
	entry, _, _ := s.server.Replica(replica)
	settings := *entry
	settings.Name, settings.Timeout, settings.MaxTimeout, settings.Retry = s.server.Name, s.server.Timeout, s.server.MaxTimeout, s.server.Retry
	return settings
}

// tellSettings tells the backends what has changed that leaves their connections as they are.
func (s *state) sendConfig(out []kernel.Effect) []kernel.Effect {
	for _, conn := range s.replicas.connections {
		entry, _, _ := s.server.Replica(conn.replica)
		conn.labels = entry.Labels
		out = append(out, kernel.Tell(conn.ref, message.NewServer{Server: s.backendConfig(conn.replica)}))
	}
	return out
}

// replaceChanged makes the connections of those replicas anew that have changed, or of those members of a group; those of the others
// stay. Another number of replicas changes none of them.
func (s *state) replaceChanged(now time.Time, before config.Server, out []kernel.Effect) []kernel.Effect {
	kept := map[int]bool{}
	for _, conn := range s.replicas.connections {
		old, was, ran := before.Replica(conn.replica)
		next, is, runs := s.server.Replica(conn.replica)
		if ran && runs && !conn.retiring && !conn.leaving && config.SameReplica(old, was, next, is) {
			kept[conn.replica] = kept[conn.replica] || conn.main
		} else {
			out = s.retire(conn, out)
		}
	}
	if len(kept) == 0 {
		s.forgetDoubt()
	}
	out = s.spawnMissing(now, kept, out)
	return s.sendQueued(now, s.connectionsRemoved(now, s.drainSurplus(s.sendConfig(out))))
}

// spawnMissing starts the backends of the replicas that are to be and are not kept.
func (s *state) spawnMissing(now time.Time, kept map[int]bool, out []kernel.Effect) []kernel.Effect {
	for replica := range s.replicaCount() {
		if !s.replicaRuns(replica) || kept[replica] {
			continue
		}
		if !s.replicas.isRetiring(replica) {
			s.replicas.forget(replica)
		}
		out = s.spawnConnection(now, &connection{replica: replica, main: true, announces: message.CanAll}, out)
	}
	for replica := range s.replicas.tools.deviating {
		if !kept[replica] && !s.replicas.isRetiring(replica) {
			delete(s.replicas.tools.deviating, replica)
		}
	}
	return out
}

// dismiss has a slot take no more calls, and go when those that it has are over.
func (s *state) drain(conn *connection, out []kernel.Effect) []kernel.Effect {
	conn.leaving = true
	s.subscriptions.markUpdatesLost(conn)
	s.forgetTenant(conn.tenant)
	return append(out, kernel.Tell(conn.ref, message.Drain{}))
}

// restartMember makes the connections of one member anew.
func (s *state) restartMember(now time.Time, name string, out []kernel.Effect) []kernel.Effect {
	kept := map[int]bool{}
	for replica := range s.replicaCount() {
		entry, _, _ := s.server.Replica(replica)
		kept[replica] = entry.Name != name
	}
	for _, conn := range s.replicas.connections {
		if s.memberOf(conn) == name {
			out = s.retire(conn, out)
		}
	}
	return s.connectionsRemoved(now, s.spawnMissing(now, kept, out))
}

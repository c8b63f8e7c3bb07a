package pool

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
)

// memberOf returns the name of the group's entry that the connection belongs to, or "" if the server is not a
// group.
func (s *state) memberOf(conn *connection) string {
	if len(s.server.Members) == 0 {
		return ""
	}
	entry, _, _ := s.server.Replica(conn.replica)
	return entry.Name
}

// logAttrs returns log attributes that name a connection, followed by rest.
func (s *state) logAttrs(conn *connection, rest ...any) []any {
	list := []any{"replica", conn.replica}
	if member := s.memberOf(conn); member != "" {
		list = append(list, "member", member)
	}
	return append(list, rest...)
}

// backendConfig returns the configuration of a replica's backend. In a group, it is the member's, except for the name that
// clients see and the settings timeout, maxTimeout and retry, which are the group's.
func (s *state) backendConfig(replica int) config.Server {
	if len(s.server.Members) == 0 {
		return s.server
	}
	entry, _, _ := s.server.Replica(replica)
	settings := *entry
	settings.Name, settings.Timeout, settings.MaxTimeout, settings.Retry = s.server.Name, s.server.Timeout, s.server.MaxTimeout, s.server.Retry
	return settings
}

// sendConfig sends every backend its current settings, and updates the labels of the connections. The settings apply
// without a new connection.
func (s *state) sendConfig(out []kernel.Effect) []kernel.Effect {
	for _, conn := range s.replicas.connections {
		entry, _, _ := s.server.Replica(conn.replica)
		conn.labels = entry.Labels
		out = append(out, kernel.Tell(conn.ref, message.NewServer{Server: s.settingsOf(conn)}))
	}
	return out
}

// replaceChanged replaces the connections of the replicas, or of the group's members, whose configuration has
// changed. The others stay, even when the number of replicas changes.
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
		s.forgetAutoLease()
		s.lastError = lastError{}
	}
	out = s.spawnMissing(now, kept, out)
	return s.sendQueued(now, s.connectionsRemoved(now, s.drainSurplus(s.sendConfig(out))))
}

// spawnMissing starts the backends of configured replicas that are not kept.
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

// restart replaces the connections for an operator, if they are those at which the operator aimed. Otherwise it answers
// with status.ErrRestarted.
func (s *state) restart(now time.Time, m message.Restart, out []kernel.Effect) []kernel.Effect {
	for _, conn := range s.replicas.connections {
		concerned := conn.main && !conn.leaving && (m.Member == "" || s.memberOf(conn) == m.Member)
		if concerned && !m.Aim.Has(conn.name(), conn.incarnation, conn.phase == message.Ready) {
			m.Answer(status.ErrRestarted)
			return out
		}
	}
	m.Answer(nil)
	if m.Member != "" {
		return s.restartMember(now, m.Member, out)
	}
	return s.replace(now, out)
}

// restartMember replaces the connections of one member of a group.
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

// replicaCount returns the configured number of replicas.
func (s *state) replicaCount() int { return s.server.ReplicaCount() }

// replicaRuns reports whether the configuration has such a replica and it is enabled.
func (s *state) replicaRuns(replica int) bool {
	_, _, runs := s.server.Replica(replica)
	return runs
}

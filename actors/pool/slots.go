package pool

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// spawned: the backend of a slot can be spoken to. It hears what it has missed.
func (s *state) spawned(m spawned, out []kernel.Effect) []kernel.Effect {
	conn := s.replicas.byNumber(m.number)
	if conn == nil {
		return out
	}
	conn.ref = m.ref
	switch {
	case conn.leaving:
		return append(out, kernel.Tell(conn.ref, message.Drain{}))
	case s.levelFor(conn) != "":
		return append(out, kernel.Tell(conn.ref, message.SetLevel{Level: s.levelFor(conn)}))
	}
	return out
}

// replicas is how many backends the configuration wants.
func (s *state) replicaCount() int { return s.server.ReplicaCount() }

// spawnAll starts the main backends.
func (s *state) spawnReplicas(now time.Time, out []kernel.Effect) []kernel.Effect {
	for replica := range s.replicaCount() {
		if _, _, runs := s.server.Replica(replica); runs {
			out = s.spawnConnection(now, &connection{replica: replica, main: true, announces: message.CanAll}, out)
		}
	}
	return out
}

func (s *state) spawnConnection(now time.Time, conn *connection, out []kernel.Effect) []kernel.Effect {
	entry, own, _ := s.server.Replica(conn.replica)
	conn.labels = entry.Labels
	conn.phase, conn.since, conn.attempts.downSince = message.Idle, now, now
	s.replicas.add(conn)
	before := uint64(0)
	if conn.main { // others count for themselves: they replace nobody
		before = s.replicas.opened[conn.replica]
	}
	key, _ := s.loginOf(conn)
	return append(out, kernel.Act(spawn{
		login:  key,
		server: s.backendConfig(conn.replica), entry: withTenantHeaders(conn, entry), own: own, member: s.memberOf(conn), replica: conn.replica, number: conn.number, announce: conn.announces, catalog: conn.main, legacy: conn.legacy,
		known: s.replicas.eras.known[eraIdentity(s.server, conn.replica)], before: before,
	}))
}

// toAllBut tells every backend but some.
func (s *state) broadcastExcept(msg any, not func(*connection) bool, out []kernel.Effect) []kernel.Effect {
	for _, conn := range s.replicas.connections {
		if !not(conn) {
			out = append(out, kernel.Tell(conn.ref, msg))
		}
	}
	return out
}

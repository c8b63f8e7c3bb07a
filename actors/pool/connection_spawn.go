package pool

import (
	"fmt"
	"log/slog"
	"time"

	"goblin-actor/actors/backend"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// spawned records a backend's reference, and sends it the drain request or log level that is already due.
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

// spawnReplicas starts the main backend of every replica.
func (s *state) spawnReplicas(now time.Time, out []kernel.Effect) []kernel.Effect {
	for replica := range s.replicaCount() {
		if _, _, runs := s.server.Replica(replica); runs {
			out = s.spawnConnection(now, &connection{replica: replica, main: true, announces: message.CanAll}, out)
		}
	}
	return out
}

// spawnConnection starts the backend of a new connection.
func (s *state) spawnConnection(now time.Time, conn *connection, out []kernel.Effect) []kernel.Effect {
	entry, own, _ := s.server.Replica(conn.replica)
	conn.labels = entry.Labels
	conn.phase, conn.since, conn.attempts.downSince = message.Idle, now, now
	s.replicas.add(conn)
	before := uint64(0)
	if conn.main { // other connections replace none
		before = s.replicas.opened[conn.replica]
	}
	key, _ := s.loginOf(conn)
	return append(out, kernel.Act(spawn{
		login:  key,
		server: s.settingsOf(conn), entry: entryOf(conn, entry), own: own, member: s.memberOf(conn), replica: conn.replica, number: conn.number, announce: conn.announces, catalog: conn.main, legacy: conn.legacy,
		known: s.replicas.eras.known[eraIdentity(s.server, conn.replica)], before: before, whose: conn.tenant.Description(),
	}))
}

// broadcastExcept sends msg to the backends of all connections, except those for which the given function returns true.
func (s *state) broadcastExcept(msg any, not func(*connection) bool, out []kernel.Effect) []kernel.Effect {
	for _, conn := range s.replicas.connections {
		if !not(conn) {
			out = append(out, kernel.Tell(conn.ref, msg))
		}
	}
	return out
}

// logOf returns a logger whose records name the connection.
func logOf(log *slog.Logger, a spawn) *slog.Logger {
	if a.member != "" {
		return log.With("replica", a.replica, "member", a.member)
	}
	return log.With("replica", a.replica)
}

func connectionName(replica, number int) string { return fmt.Sprintf("%d.%d", replica, number) }

// spawn starts a backend as a child. The state receives the backend's reference before any message from the backend.
func (p *pool) spawn(self kernel.Self, a spawn) {
	name := connectionName(a.replica, a.number)
	opener := p.Open
	switch {
	case a.entry.Hop != "" && p.Hops.Dial != nil:
		opener = p.openHop
	case a.entry.Embedded != 0 && p.Embedded != nil:
		opener = p.openEmbedded
	case opener == nil:
		opener = p.openAs(p.credentials(self, a))
	}
	open, transport := opener(a.entry, a.own)
	ref := backend.Spawn(self, "backend/"+name, backend.Options{
		Name: name, Whose: a.whose, Server: a.server, Node: p.Node, Replica: a.replica, Member: a.member, Pool: self.Reference(), Open: p.redactEvents(open), Transport: transport, Links: p.Links,
		Announce: a.announce, Catalog: a.catalog, Legacy: a.legacy, Metrics: p.Metrics, Known: a.known, Before: a.before,
		Log: logOf(p.Log, a), Seed: p.Seed + uint64(a.number),
	})
	self.Next(spawned{a.number, ref})
}

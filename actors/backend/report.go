package backend

import (
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

// shown is how operators see the backend.
type shown struct {
	name  string // <replica>.<number>
	whose string // the only client or principal that it serves; "" = several
}

// route returns the name of the connection, which its calls share.
func (s *state) route() *status.Route {
	if s.conn.route == nil {
		s.conn.route = &status.Route{Backend: s.shown.name, Node: s.server.Hop}
		if s.conn.info != nil {
			s.conn.route.Protocol = s.conn.info.Version
		}
	}
	return s.conn.route
}

// carries returns what the connection is used for and by which clients, in plain words.
func (s *state) carries() string {
	if !s.catalog {
		return s.clients()
	}
	switch {
	case s.server.Isolates():
		return "lists; clients have connections of their own"
	case s.server.Isolation == "class" && s.conn.info != nil && !protocol.IsModern(s.conn.info.Version):
		return "lists, and " + message.CanAll.Clients()
	}
	return "lists, and every client"
}

// clients returns which clients are served by a connection that does not fetch the lists.
func (s *state) clients() string {
	switch {
	case s.shown.whose != "":
		return s.shown.whose
	case s.legacyOnly:
		return s.announce.Clients() + ", in older protocol versions"
	case s.server.Isolation == "class":
		return s.announce.Clients()
	}
	return "one call at a time"
}

// reasonShown returns what a start waits for and the last failure, or why the backend is in its phase.
func (s *state) reasonShown(now time.Time) string {
	switch {
	case s.starting():
		reason, _ := message.Starting(s.life.phase, now.Sub(s.life.since), s.life.fault)
		return reason
	case s.life.connectRequested:
		return message.WithFailure(message.AwaitsTurn, s.life.fault)
	}
	return message.Explain(s.life.reason, s.conn.process.lastLine)
}

// report returns the backend's status for operators.
func (s *state) report(now time.Time) status.Backend {
	b := status.Backend{
		Server: s.server.Name, Replica: s.replica, Member: s.member, Catalog: s.catalog, State: string(s.life.phase), Reason: s.reasonShown(now), Incarnation: uint64(s.conn.incarnation),
		Transport: s.transport, PID: s.conn.process.pid, NextAttempt: s.life.nextAttempt, Since: s.life.since, InFlight: len(s.conn.byCall) + len(s.carried.rounds), Noise: s.life.garbage.lines,
		Name: s.shown.name, For: s.carries(), Tries: s.life.failures, FirstNoise: s.life.garbage.first, LastNoise: s.life.garbage.last,
		Stderr: append([]string(nil), s.life.stderr...),
	}
	if s.conn.info != nil {
		b.Protocol = s.conn.info.Version
	}
	return b
}

// Phase implements kernel.Phased.
func (b *backend) Phase() string { return string(b.state.life.phase) }

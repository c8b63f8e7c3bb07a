package pool

import (
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// canTake reports whether the connection can take the call now.
func (s *state) canTake(conn *connection, w target, r *message.Request) bool {
	return conn.phase == message.Ready && !conn.leaving && !conn.lost && s.calls.pauses.end(s.now, conn).IsZero() && s.matchesClass(w, conn) && w.allows(conn) && !s.definesDifferently(w, conn) && (!s.isLeased() || r.AboutTask() || conn.inFlight == 0)
}

// pick returns the connection that should carry the call, or nil if none can take it. If possible, a call about a task
// goes to the connection that created the task, and a request with a requestState to one that speaks a modern version
// (pickOrigin). All other calls are balanced, if possible among the replicas that the call prefers.
func (s *state) pick(w target, r *message.Request) *connection {
	if conn := s.pickOrigin(w, r); conn != nil {
		return conn
	}
	if len(s.replicas.connections) == 1 { // the usual case
		if conn := s.replicas.connections[0]; s.canTake(conn, w, r) {
			return conn
		}
		return nil
	}
	if w.prefer != nil && !w.prefer.Required {
		if conn := s.pickAmong(w, r, w.prefer); conn != nil {
			return conn
		}
	}
	return s.pickAmong(w, r, nil)
}

// pickAmong returns one of the connections that can take the call: the next in turn or, if balance is least-busy, the
// one with the fewest running calls. If prefer is not nil, only connections whose replicas meet it are considered. It
// returns nil if there is none.
func (s *state) pickAmong(w target, r *message.Request, prefer *message.Prefer) *connection {
	var best *connection
	for i := range s.replicas.connections {
		conn := s.replicas.connections[(s.replicas.lastPicked+1+i)%len(s.replicas.connections)]
		if !s.canTake(conn, w, r) || prefer != nil && !prefer.IsMetBy(conn.labels) {
			continue
		}
		if best == nil || s.server.Balance == "least-busy" && conn.inFlight < best.inFlight {
			best = conn
		}
	}
	return best
}

// pickOrigin returns the connection that the call belongs to, if it can take the call: the one that created the
// task, or, for a request with a requestState, one that speaks a modern version.
func (s *state) pickOrigin(w target, r *message.Request) *connection {
	if r.Home != nil {
		if conn := s.replicas.byBackend(r.Home.Backend); conn != nil && s.canTake(conn, w, r) {
			return conn
		}
	}
	if !r.Modern || !r.Params.RequestState.Present() || len(s.replicas.connections) < 2 {
		return nil
	}
	for _, conn := range s.replicas.connections {
		if s.canTake(conn, w, r) && conn.catalog.info != nil && protocol.IsModern(conn.catalog.info.Version) {
			return conn
		}
	}
	return nil
}

package pool

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// retireDue reports that the successor of a connection has had enough time to start.
type retireDue struct{ number int }

// retire drains a connection when its successor is ready. Until then it takes calls, so the server is never without a
// connection. A connection that is not ready is drained at once. A connection is also drained when the successor takes
// longer than startTimeout or fails to start, since the old process may hold a lock or port that the new one needs.
func (s *state) retire(conn *connection, out []kernel.Effect) []kernel.Effect {
	switch {
	case conn.leaving || conn.retiring:
		return out
	case conn.phase != message.Ready || conn.lost:
		return s.drain(conn, out)
	}
	conn.retiring = true
	return append(out, kernel.WakeAfter(s.backendConfig(conn.replica).StartTimeout, retireDue{conn.number}))
}

// retireDue drains a connection that was not replaced in time.
func (s *state) retireDue(now time.Time, m retireDue, out []kernel.Effect) []kernel.Effect {
	if conn := s.replicas.byNumber(m.number); conn != nil && conn.retiring && !conn.leaving {
		return s.connectionsRemoved(now, s.drain(conn, out))
	}
	return out
}

// drainReplaced drains the retiring connections that a main connection replaces: those to the same replica and, if the
// main connection is ready, those to replicas that no longer run. It is called once clients see the main connection's
// catalog, or once that connection has failed.
func (s *state) drainReplaced(by *connection, out []kernel.Effect) []kernel.Effect {
	if !by.main || by.retiring || by.leaving {
		return out
	}
	for _, old := range s.replicas.connections {
		if old.retiring && !old.leaving && (old.replica == by.replica || by.phase == message.Ready && !s.replicaRuns(old.replica)) {
			out = s.drain(old, out)
		}
	}
	return out
}

// drainIfLost drains a connection that was lost while it waited for its successor.
func (s *state) drainIfLost(conn *connection, out []kernel.Effect) []kernel.Effect {
	if !conn.retiring || conn.leaving || conn.phase == message.Ready || conn.phase == message.Draining {
		return out
	}
	return s.drain(conn, out)
}

// drainSurplus drains the retiring connections to replicas that no longer run, if a main connection that stays is ready.
func (s *state) drainSurplus(out []kernel.Effect) []kernel.Effect {
	for _, conn := range s.replicas.connections {
		if conn.main && !conn.retiring && !conn.leaving && conn.visiblePhase() == message.Ready {
			return s.drainReplaced(conn, out)
		}
	}
	return out
}

// connectionsRemoved is called after draining connections. It fails the calls and subscriptions that no other connection
// can serve, and follows the new leader.
func (s *state) connectionsRemoved(now time.Time, out []kernel.Effect) []kernel.Effect {
	return s.followLeader(s.failWaitingSubscribes(s.failUnservable(now, out)))
}

// drain lets a connection finish its calls and then stop. It takes no new ones.
func (s *state) drain(conn *connection, out []kernel.Effect) []kernel.Effect {
	conn.leaving = true
	s.subscriptions.markUpdatesLost(conn)
	s.forgetTenant(conn.tenant)
	return append(out, kernel.Tell(conn.ref, message.Drain{}))
}

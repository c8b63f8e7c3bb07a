package pool

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// retireDue: what takes the place of a backend has had its time.
type retireDue struct{ number int }

// retire has a backend go when another has taken its place: until then it takes calls, so that no moment is without one. It goes
// without a successor when that has failed to start, since it may be in the way (a lock, a port), or took longer than a start may.
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

// retireDue has a backend go that nobody has replaced in time.
func (s *state) retireDue(now time.Time, m retireDue, out []kernel.Effect) []kernel.Effect {
	if conn := s.replicas.byNumber(m.number); conn != nil && conn.retiring && !conn.leaving {
		return s.connectionsRemoved(now, s.drain(conn, out))
	}
	return out
}

// relieve has those go whose place a backend takes that is ready now, for everybody to see, or has failed: the one before it and,
// when it is ready, those that nobody is to follow.
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

// relieved has a backend go that has lost its connection while it waited for its successor.
func (s *state) drainIfLost(conn *connection, out []kernel.Effect) []kernel.Effect {
	if !conn.retiring || conn.leaving || conn.phase == message.Ready || conn.phase == message.Draining {
		return out
	}
	return s.drain(conn, out)
}

// relieveSurplus has those go at once that nobody is to follow, when another is ready.
func (s *state) drainSurplus(out []kernel.Effect) []kernel.Effect {
	for _, conn := range s.replicas.connections {
		if conn.main && !conn.retiring && !conn.leaving && conn.visiblePhase() == message.Ready {
			return s.drainReplaced(conn, out)
		}
	}
	return out
}

// runs reports whether there is to be such a replica.
func (s *state) replicaRuns(replica int) bool {
	_, _, runs := s.server.Replica(replica)
	return runs
}

// gone follows backends that take no more calls: what waited for them and has nobody else fails, another leads.
func (s *state) connectionsRemoved(now time.Time, out []kernel.Effect) []kernel.Effect {
	return s.followLeader(s.failWaitingSubscribes(s.failUnservable(now, out)))
}

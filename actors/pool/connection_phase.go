package pool

import (
	"log/slog"
	"maps"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

// backendChanged handles a backend's change of phase.
func (s *state) backendChanged(now time.Time, m message.BackendChanged, out []kernel.Effect) []kernel.Effect {
	conn := s.replicas.byBackend(m.Backend)
	if conn == nil {
		return out
	}
	if m.Restarted {
		out = s.failQueriesOf(conn, s.failCallsOf(conn, out))
	}
	was := conn.phase
	if m.Phase == message.Ready && was == message.Ready && conn.incarnation == m.Incarnation {
		conn.reason = m.Reason // only the reason has changed
		return out
	}
	s.recordPhase(now, conn, m)
	out = s.drainIfLost(conn, s.releaseStartSlot(conn, out))
	switch m.Phase {
	case message.Syncing:
		out = s.followLeader(s.recordEra(conn, m.Info, out))
	case message.Ready:
		out = s.becameReady(now, conn, m, out)
	case message.Waiting, message.NeedsLogin:
		conn.attempts.everFailed = true
		if m.Refused && conn.legacy {
			return s.legacyRefused(now, conn, out)
		}
		// Retry first: a login may have arrived meanwhile, and then the waiting calls are not failed.
		out = s.becameUnavailable(now, conn, was, s.retryWithLogin(conn, s.drainReplaced(conn, out)))
		out = s.announceLoginNeed(out)
	case message.Stopped:
		return out
	default:
		out = s.followLeader(out)
	}
	return s.rememberCatalog(now, s.updateSettled(out))
}

// recordPhase records a backend's new phase.
func (s *state) recordPhase(now time.Time, conn *connection, m message.BackendChanged) {
	if conn.phase == message.Ready {
		s.subscriptions.markUpdatesLost(conn)
	}
	if conn.main { // failures of other connections do not count as failures of the server
		s.lastError.record(now, conn.phase, m)
	}
	conn.recordAttempt(now, conn.phase, m)
	conn.noLogin = m.NoLogin
	conn.phase, conn.reason, conn.lastLine, conn.nextAttempt, conn.incarnation, conn.since = m.Phase, m.Reason, m.LastLine, m.NextAttempt, m.Incarnation, now
	conn.catalog.confirm, conn.catalog.visible = 0, false
	if conn.main {
		s.replicas.opened[conn.replica] = max(s.replicas.opened[conn.replica], m.Incarnation)
	}
}

// becameReady sends queued calls on a connection that has become ready, and asks the registry to confirm that clients
// see its lists.
func (s *state) becameReady(now time.Time, conn *connection, m message.BackendChanged, out []kernel.Effect) []kernel.Effect {
	conn.attempts.everReady, conn.catalog.info = true, m.Info
	out = s.followLeader(s.rememberEra(conn, m.Known, out))
	conn.catalog.confirm = s.catalog.nextConfirm()
	out = s.resumeLoginWaiters(now, conn, s.sendQueued(now, out))
	return append(out, kernel.Tell(s.registry, message.Confirm{From: s.self, Key: conn.catalog.confirm}))
}

// becameUnavailable handles a connection that was lost or could not be opened. If it was a legacy connection, the calls
// that wait for it use the modern connection instead. Other connections to the same replica check whether they were
// lost too.
func (s *state) becameUnavailable(now time.Time, conn *connection, was message.Phase, out []kernel.Effect) []kernel.Effect {
	if conn.legacy {
		out = s.addForSubscribers(s.sendQueued(now, out))
	}
	detail := message.Explain(conn.reason, conn.lastLine)
	out = append(out, kernel.Log(s.unavailableLevel(now, conn, was, detail), status.LogServerUnavailable, s.logAttrs(conn, "was", string(was), "reason", detail, "nextAttempt", conn.nextAttempt.Format(time.RFC3339))...))
	for _, other := range s.replicas.connections {
		if other != conn && other.replica == conn.replica && other.phase == message.Ready {
			out = append(out, kernel.Tell(other.ref, message.CheckConnection{}))
		}
	}
	return s.followLeader(s.failWaitingSubscribes(s.failUnservable(now, out)))
}

// updateSettled sets settled once every replica has been ready, or has failed, at least once.
func (s *state) updateSettled(out []kernel.Effect) []kernel.Effect {
	all, failed := true, true
	for _, conn := range s.replicas.connections {
		if !conn.main {
			continue
		}
		all = all && (conn.attempts.everReady || conn.attempts.everFailed)
		failed = failed && conn.attempts.everFailed && !conn.attempts.everReady
	}
	if !all || s.settled {
		return out
	}
	s.settled, s.failed = true, failed
	return s.announce(out)
}

// childStopped forgets a backend that has stopped. If it was not told to stop, it has failed for good.
func (s *state) childStopped(now time.Time, m kernel.ChildStopped, out []kernel.Effect) []kernel.Effect {
	conn := s.replicas.byBackend(m.Child)
	if conn == nil {
		return out
	}
	out = s.failCallsOf(conn, out)
	s.replicas.remove(conn)
	conn.phase = message.Stopped
	s.forgetTenant(conn.tenant)
	out = s.releaseStartSlot(conn, s.stopLoginOf(conn, out))
	s.subscriptions.markUpdatesLost(conn)
	out = s.rememberCatalog(now, s.followLeader(s.failQueriesOf(conn, out)))
	if conn.leaving || conn.retiring {
		return out
	}
	conn.attempts.everFailed = true
	out = append(out, kernel.Log(slog.LevelError, "backend stopped after too many internal errors; restart the server to try again", "replica", conn.replica, "err", m.Err))
	s.settled, s.failed = true, true
	return s.failWaitingSubscribes(s.failUnservable(now, s.announce(out)))
}

// failCallsOf fails the calls of a backend that was restarted or has stopped.
func (s *state) failCallsOf(conn *connection, out []kernel.Effect) []kernel.Effect {
	for _, call := range slices.SortedFunc(maps.Keys(s.calls.running), message.CallRef.Compare) {
		r := s.calls.running[call]
		if r.conn != conn {
			continue
		}
		s.finish(call, r)
		fault := &protocol.Fault{Name: protocol.BackendDisconnected, Server: s.server.Name, Message: "server " + s.server.Name + " was lost during the call; it is unknown whether the call was executed"}
		out = append(out, kernel.Tell(call.Holder, message.Failed{Seq: call.Seq, Fault: fault}))
	}
	return out
}

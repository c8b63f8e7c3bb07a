package pool

import (
	"log/slog"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

const startupLazy = "lazy"

// idleStop tracks the use of a lazy server, which is stopped when it has been idle for too long.
type idleStop struct {
	usedAt      time.Time // when a client last used the server
	timer       uint64    // number of the newest timer
	waits, asks int       // how often the pool has waited for a catalog that another node may know, and asked for it (startFirst)
	lastFailure string    // why the last connection attempt before the stop failed; "" = it succeeded; clients may see it
}

// explain describes the failure that preceded the stop, or returns "" if there was none.
func (r *idleStop) explain() string {
	if r.lastFailure == "" {
		return ""
	}
	return "its last attempt failed: " + r.lastFailure
}

// idleDue reports that a lazy server may have been unused for long enough to be stopped.
type idleDue struct{ timer uint64 }

// isLazy reports whether the server runs only while it is used.
func (s *state) isLazy() bool { return s.server.Startup == startupLazy }

// knowsCatalog reports whether the server's catalog is known. Until then the server is kept running or retried,
// because clients need its catalog to call it.
func (s *state) knowsCatalog() bool { return s.catalog.remembered.catalog != nil }

// isStopped reports whether the server is configured correctly and has no main connection, apart from those that are leaving.
func (s *state) isStopped() bool {
	return s.fault == "" && s.replicas.isStopped()
}

// startUnlessLazy starts the backends. A lazy server whose catalog is known waits until a client needs it.
func (s *state) startUnlessLazy(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.isLazy() && s.knowsCatalog() {
		return out
	}
	return s.spawnReplicas(now, s.restartIdleTimer(now, out))
}

// wake records that a client needs the server now. It starts a lazy server that is stopped. For any other server, it starts
// the backends that still wait until clients have been served the remembered catalog (startAfterClients).
func (s *state) wake(now time.Time, out []kernel.Effect) []kernel.Effect {
	s.idle.usedAt = now
	if !s.isLazy() {
		return s.startAfterClients(now, out)
	}
	if !s.isStopped() {
		return out
	}
	out = append(out, kernel.Log(slog.LevelInfo, "starting lazy server"))
	return s.spawnReplicas(now, s.restartIdleTimer(now, out))
}

// restartIdleTimer restarts the idle time at now.
func (s *state) restartIdleTimer(now time.Time, out []kernel.Effect) []kernel.Effect {
	s.idle.usedAt, s.idle.lastFailure = now, ""
	if !s.isLazy() {
		return out
	}
	return s.armIdleTimer(s.server.IdleStop, out)
}

// armIdleTimer starts the timer for the next check of the idle time.
func (s *state) armIdleTimer(d time.Duration, out []kernel.Effect) []kernel.Effect {
	s.idle.timer++
	return append(out, kernel.WakeAfter(d, idleDue{s.idle.timer}))
}

// idleDue asks the backends whether they are idle, once the server has been unused for idleStop. A backend with a
// running task does not answer and is asked again later.
func (s *state) idleDue(now time.Time, m idleDue, out []kernel.Effect) []kernel.Effect {
	if m.timer != s.idle.timer || !s.isLazy() || s.isStopped() {
		return out
	}
	if s.isInUse() || !s.knowsCatalog() {
		s.idle.usedAt = now
	}
	if left := s.idle.usedAt.Add(s.server.IdleStop).Sub(now); left > 0 {
		return s.armIdleTimer(left, out)
	}
	return s.armIdleTimer(s.server.IdleStop, s.broadcastExcept(message.QueryIdle{}, func(*connection) bool { return false }, out))
}

// isInUse reports whether the server has running or queued calls, calls that wait for a login, subscriptions, or clients
// that wait until a list that was fetched again is visible.
func (s *state) isInUse() bool {
	return len(s.calls.running)+s.calls.queue.len()+len(s.logins.waiting)+len(s.subscriptions.byKey)+len(s.catalog.refreshes.confirming) > 0
}

// backendIdle stops an idle backend, unless a client has used the server since the backend was asked.
func (s *state) backendIdle(now time.Time, m message.BackendIdle, out []kernel.Effect) []kernel.Effect {
	conn := s.replicas.byBackend(m.Backend)
	if conn == nil || conn.leaving || !s.isLazy() || s.isInUse() || now.Before(s.idle.usedAt.Add(s.server.IdleStop)) {
		return out
	}
	s.idle.lastFailure = conn.attempts.failure
	out = append(out, kernel.Log(slog.LevelInfo, "stopping idle server", "replica", conn.replica, "for", s.server.IdleStop.String()))
	return s.followLeader(s.drain(conn, out))
}

// startupChanged handles a reload that makes a server lazy or eager, or changes idleStop.
func (s *state) startupChanged(now time.Time, out []kernel.Effect) []kernel.Effect {
	switch {
	case s.isLazy() && !s.isStopped():
		return s.restartIdleTimer(now, out)
	case !s.isLazy() && s.isStopped():
		return s.spawnReplicas(now, out)
	}
	return out
}

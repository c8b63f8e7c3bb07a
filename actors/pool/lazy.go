package pool

import (
	"log/slog"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

const startupLazy = "lazy"

// rest is what a lazy server's pool knows of its pauses.
type idleStop struct {
	usedAt      time.Time // when somebody last wanted something of it
	timer       uint64    // of the timer that asks whether that is long ago
	lastFailure string    // why its newest attempt had failed when it was stopped; "" = it had not. Clients may see it
}

// why says what was wrong when the server was stopped, if anything was.
func (r *idleStop) explain() string {
	if r.lastFailure == "" {
		return ""
	}
	return "its newest attempt has failed: " + r.lastFailure
}

// restDue: it may be long ago that somebody wanted something of the server.
type idleDue struct{ timer uint64 }

func (s *state) isLazy() bool { return s.server.Startup == startupLazy }

// learned reports whether it is known what the server offers. Until then it is kept running, or tried: nobody can call what he
// does not know.
func (s *state) knowsCatalog() bool { return s.catalog.remembered.catalog != nil }

// asleep reports whether no backend runs, or is going to, that carries the catalog.
func (s *state) isStopped() bool {
	return s.fault == "" && s.replicas.isStopped()
}

// begin starts the backends, unless the server is lazy and it is known what it offers: it waits for somebody who wants something.
func (s *state) startUnlessLazy(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.isLazy() && s.knowsCatalog() {
		return out
	}
	return s.spawnReplicas(now, s.restartIdleTimer(now, out))
}

// wake starts a lazy server for somebody who wants something of it now.
func (s *state) wake(now time.Time, out []kernel.Effect) []kernel.Effect {
	s.idle.usedAt = now
	if !s.isLazy() {
		return s.startAfterClients(now, out)
	}
	if !s.isStopped() {
		return out
	}
	out = append(out, kernel.Log(slog.LevelInfo, "server is started: it is wanted"))
	return s.spawnReplicas(now, s.restartIdleTimer(now, out))
}

// watchUse sets the clock that stops a lazy server when nobody has wanted anything of it for long enough.
func (s *state) restartIdleTimer(now time.Time, out []kernel.Effect) []kernel.Effect {
	s.idle.usedAt, s.idle.lastFailure = now, ""
	if !s.isLazy() {
		return out
	}
	return s.armIdleTimer(s.server.IdleStop, out)
}

func (s *state) armIdleTimer(d time.Duration, out []kernel.Effect) []kernel.Effect {
	s.idle.timer++
	return append(out, kernel.WakeAfter(d, idleDue{s.idle.timer}))
}

// restDue asks the backends whether they may be stopped, when it is time. One with a task that runs says nothing, and is asked again.
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

// isWanted reports whether somebody waits for the server, or wants to hear of it.
func (s *state) isInUse() bool {
	return len(s.calls.running)+s.calls.queue.len()+len(s.subscriptions.byKey)+len(s.catalog.refreshes.confirming) > 0
}

// rests stops a backend that has nothing to do, unless somebody has come since it was asked.
func (s *state) backendIdle(now time.Time, m message.BackendIdle, out []kernel.Effect) []kernel.Effect {
	conn := s.replicas.byBackend(m.Backend)
	if conn == nil || conn.leaving || !s.isLazy() || s.isInUse() || now.Before(s.idle.usedAt.Add(s.server.IdleStop)) {
		return out
	}
	s.idle.lastFailure = conn.attempts.failure
	out = append(out, kernel.Log(slog.LevelInfo, "server is stopped: nobody has wanted anything of it", "replica", conn.replica, "for", s.server.IdleStop.String()))
	return s.followLeader(s.drain(conn, out))
}

// startupChanged follows a reload that makes a running server lazy or eager, or changes how long it may stay unused.
func (s *state) startupChanged(now time.Time, out []kernel.Effect) []kernel.Effect {
	switch {
	case s.isLazy() && !s.isStopped():
		return s.restartIdleTimer(now, out)
	case !s.isLazy() && s.isStopped():
		return s.spawnReplicas(now, out)
	}
	return out
}

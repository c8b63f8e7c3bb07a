package pool

import (
	"log/slog"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

const startupLazy = "lazy"

// rest is what a lazy server's pool knows of its pauses.
type rest struct {
	used  time.Time // when somebody last wanted something of it
	clock uint64    // of the timer that asks whether that is long ago
	fault string    // why its newest attempt had failed when it was stopped; "" = it had not. Clients may see it
}

// why says what was wrong when the server was stopped, if anything was.
func (r *rest) why() string {
	if r.fault == "" {
		return ""
	}
	return "its newest attempt has failed: " + r.fault
}

// restDue: it may be long ago that somebody wanted something of the server.
type restDue struct{ clock uint64 }

func (s *state) isLazy() bool { return s.server.Startup == startupLazy }

// learned reports whether it is known what the server offers. Until then it is kept running, or tried: nobody can call what he
// does not know.
func (s *state) learned() bool { return s.remembered.catalog != nil }

// asleep reports whether no backend runs, or is going to, that carries the catalog.
func (s *state) asleep() bool {
	for _, sl := range s.slots {
		if sl.main && !sl.leaving {
			return false
		}
	}
	return s.fault == ""
}

// begin starts the backends, unless the server is lazy and it is known what it offers: it waits for somebody who wants something.
func (s *state) begin(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.isLazy() && s.learned() {
		return out
	}
	return s.spawnAll(now, s.watchUse(now, out))
}

// wake starts a lazy server for somebody who wants something of it now.
func (s *state) wake(now time.Time, out []kernel.Effect) []kernel.Effect {
	s.rest.used = now
	if !s.isLazy() {
		return s.clientsServed(now, out)
	}
	if !s.asleep() {
		return out
	}
	out = append(out, kernel.Log(slog.LevelInfo, "server is started: it is wanted"))
	return s.spawnAll(now, s.watchUse(now, out))
}

// watchUse sets the clock that stops a lazy server when nobody has wanted anything of it for long enough.
func (s *state) watchUse(now time.Time, out []kernel.Effect) []kernel.Effect {
	s.rest.used, s.rest.fault = now, ""
	if !s.isLazy() {
		return out
	}
	return s.watchFor(s.server.IdleStop, out)
}

func (s *state) watchFor(d time.Duration, out []kernel.Effect) []kernel.Effect {
	s.rest.clock++
	return append(out, kernel.WakeAfter(d, restDue{s.rest.clock}))
}

// restDue asks the backends whether they may be stopped, when it is time. One with a task that runs says nothing, and is asked again.
func (s *state) restDue(now time.Time, m restDue, out []kernel.Effect) []kernel.Effect {
	if m.clock != s.rest.clock || !s.isLazy() || s.asleep() {
		return out
	}
	if s.isWanted() || !s.learned() {
		s.rest.used = now
	}
	if left := s.rest.used.Add(s.server.IdleStop).Sub(now); left > 0 {
		return s.watchFor(left, out)
	}
	return s.watchFor(s.server.IdleStop, s.toAllBut(message.QueryIdle{}, func(*slot) bool { return false }, out))
}

// isWanted reports whether somebody waits for the server, or wants to hear of it.
func (s *state) isWanted() bool {
	return len(s.running)+s.queue.len()+len(s.subs)+len(s.refreshes.confirming) > 0
}

// rests stops a backend that has nothing to do, unless somebody has come since it was asked.
func (s *state) rests(now time.Time, m message.BackendIdle, out []kernel.Effect) []kernel.Effect {
	sl := s.slotOf(m.Backend)
	if sl == nil || sl.leaving || !s.isLazy() || s.isWanted() || now.Before(s.rest.used.Add(s.server.IdleStop)) {
		return out
	}
	s.rest.fault = sl.failure
	out = append(out, kernel.Log(slog.LevelInfo, "server is stopped: nobody has wanted anything of it", "replica", sl.replica, "for", s.server.IdleStop.String()))
	return s.lead(s.dismiss(sl, out))
}

// startupChanged follows a reload that makes a running server lazy or eager, or changes how long it may stay unused.
func (s *state) startupChanged(now time.Time, out []kernel.Effect) []kernel.Effect {
	switch {
	case s.isLazy() && !s.asleep():
		return s.watchUse(now, out)
	case !s.isLazy() && s.asleep():
		return s.spawnAll(now, out)
	}
	return out
}

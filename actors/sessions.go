package actors

import (
	"log/slog"
	"slices"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/meta"
)

// open spawns a session, when there is room for one.
func (s *state) open(m message.OpenSession, out []kernel.Effect) []kernel.Effect {
	if s.draining {
		return append(out, kernel.Act(refuseSession{m, kernel.Gone}))
	}
	if s.registry.IsZero() && len(s.early) < maxWaitingNew {
		s.early = append(s.early, m)
		return out
	}
	if s.registry.IsZero() {
		return append(out, kernel.Act(refuseSession{m, kernel.Overloaded}))
	}
	if s.sessions.Len()+s.opening < s.config.Limits.MaxSessions {
		s.opening++
		return append(out, kernel.Act(startSession{first: m, view: m.View, limits: s.config.Limits}))
	}
	if len(s.waiting) >= maxWaitingNew {
		return append(out, kernel.Act(refuseSession{m, kernel.Overloaded}))
	}
	s.waiting = append(s.waiting, m)
	return s.ask(out)
}

// openListen spawns the actor of a listen stream; it counts as a session.
func (s *state) openListen(m message.OpenListen, out []kernel.Effect) []kernel.Effect {
	if s.draining || s.registry.IsZero() {
		return append(out, kernel.Act(refuseListen{m, kernel.Gone}))
	}
	if s.sessions.Len()+s.opening >= s.config.Limits.MaxSessions {
		return append(out, kernel.Act(refuseListen{m, kernel.Overloaded}))
	}
	s.opening++
	s.streams++
	expect := 0
	if m.Exchange.Origin.Stdio { // the first request comes before the servers
		expect = s.enabled()
	}
	return append(out, kernel.Act(startListener{m, s.streams, expect}))
}

// ask starts a survey: which sessions could leave (the least recently used makes room).
func (s *state) ask(out []kernel.Effect) []kernel.Effect {
	if s.polling {
		return out
	}
	s.polling, s.survey = true, nil
	s.gen++
	for _, ref := range s.sessions.All() {
		out = append(out, kernel.Tell(ref, message.SinceWhen{To: s.self}))
	}
	return append(out, kernel.WakeAfter(surveyTime, surveyOver{s.gen}))
}

// makeRoom asks as many idle sessions to leave as clients wait, the least recently used first; clients for whom
// there is none are refused.
func (s *state) makeRoom(out []kernel.Effect) []kernel.Effect {
	if !s.polling {
		return out
	}
	s.polling = false
	s.gen++
	idle := slices.DeleteFunc(s.survey, func(a message.IdleSince) bool {
		return a.Busy || s.asked[a.Session] || !s.sessions.Has(a.Session)
	})
	slices.SortFunc(idle, func(a, b message.IdleSince) int { return a.At.Compare(b.At) })
	n := min(len(idle), len(s.waiting))
	for _, a := range idle[:n] {
		s.asked[a.Session] = true
		out = append(out, kernel.Tell(a.Session, message.CloseIfIdle{}))
	}
	for len(s.waiting) > len(s.asked) {
		last := len(s.waiting) - 1
		out = append(out, kernel.Act(refuseSession{s.waiting[last], kernel.Overloaded}))
		s.waiting = s.waiting[:last]
	}
	s.survey = nil
	return out
}

// childStopped forgets a session, a pool or a desk; a client that waits gets the session's place.
func (s *state) childStopped(m kernel.ChildStopped, out []kernel.Effect) []kernel.Effect {
	if m.Child == s.registry {
		return append(out, kernel.Log(slog.LevelError, "the registry has failed; restart the gateway", "err", m.Err))
	}
	s.starts.forget(m.Child)
	out = s.nextStarts(out)
	if m.Child == s.meta {
		s.meta = kernel.Reference{}
		return append(out, kernel.Tell(s.registry, message.ServerGone{Server: meta.Name}))
	}
	for name, ref := range s.pools {
		if ref == m.Child {
			delete(s.pools, name)
			return append(out, kernel.Tell(s.registry, message.ServerGone{Server: name}))
		}
	}
	for name, ref := range s.leaving {
		if ref == m.Child {
			return s.poolGone(name, out)
		}
	}
	if _, set := s.levels[m.Child]; set {
		delete(s.levels, m.Child)
		out = s.chooseLevel(out)
	}
	if !s.sessions.Remove(m.Child) {
		delete(s.serving, m.Child)
		s.desks = slices.DeleteFunc(s.desks, func(desk kernel.Reference) bool { return desk == m.Child })
		return s.drained(out)
	}
	delete(s.asked, m.Child)
	out = append(out, kernel.Tell(s.registry, message.Unsubscribe{Who: m.Child}))
	if len(s.waiting) > 0 && !s.draining {
		next := s.waiting[0]
		s.waiting = s.waiting[1:]
		return s.open(next, out)
	}
	return s.drained(out)
}

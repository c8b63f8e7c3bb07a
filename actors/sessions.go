package actors

import (
	"log/slog"
	"slices"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/meta"
)

// open spawns what a client comes for, when there is room for it.
func (s *state) open(g guest, out []kernel.Effect) []kernel.Effect {
	if fault := s.changed.Settle(g.admitted()); fault != nil {
		return append(out, g.refuse(fault))
	}
	if fault := s.tooMany(g.owner, g.subs); fault != nil {
		return append(out, g.refuse(fault))
	}
	switch {
	case s.draining, g.listen != nil && s.registry.IsZero():
		return append(out, g.refuse(message.NoRoom(kernel.Gone)))
	case s.registry.IsZero() && len(s.early) < maxWaitingNew:
		s.early = append(s.early, *g.session)
		return out
	case s.registry.IsZero():
		return append(out, g.refuse(message.NoRoom(kernel.Overloaded)))
	case s.sessions.Len()+s.opening < s.config.Limits.MaxSessions:
		return s.begins(g, out)
	}
	if len(s.waiting) >= maxWaitingNew {
		var gives *guest
		if gives, out = s.givePlace(&g, out); gives == nil {
			return append(out, g.refuse(message.NoRoom(kernel.Overloaded)))
		}
	}
	s.waiting = append(s.waiting, g)
	return s.ask(out)
}

// begins spawns the actor that serves a client.
func (s *state) begins(g guest, out []kernel.Effect) []kernel.Effect {
	s.opening++
	s.owners.opening(g.owner, g.subs)
	if g.session != nil {
		return append(out, kernel.Act(startSession{first: *g.session, owner: g.owner, limits: s.config.Limits}))
	}
	s.streams++
	expect := 0
	if g.listen.Exchange.Origin.Stdio { // the first request comes before the servers
		expect = s.enabled()
	}
	return append(out, kernel.Act(startListener{*g.listen, g.owner, g.subs, s.streams, expect}))
}

// started notes whose a session or a listen stream is. Its principal may have changed while it was spawned.
func (s *state) started(m sessionStarted, out []kernel.Effect) []kernel.Effect {
	s.opening--
	if m.ref.IsZero() {
		s.owners.gone(m.owner, m.subs)
		return out
	}
	s.sessions.Add(m.ref)
	s.owners.opened(m.ref, m.owner, m.subs)
	return s.tellChanged(m.ref, out)
}

// ask starts a survey: which sessions could leave (the least recently used makes room).
func (s *state) ask(out []kernel.Effect) []kernel.Effect {
	if s.polling {
		return out
	}
	s.polling, s.survey = true, nil
	s.gen++
	for _, ref := range s.sessions.All() {
		out = append(out, kernel.Tell(ref, message.QueryIdleSince{To: s.self}))
	}
	return append(out, kernel.WakeAfter(surveyTime, surveyOver{s.gen}))
}

// childStopped forgets a session, a pool or a desk; a client that waits gets the session's place.
func (s *state) childStopped(m kernel.ChildStopped, out []kernel.Effect) []kernel.Effect {
	if m.Child == s.registry {
		s.unseen = true
		return append(s.answerApplying(out), kernel.Log(slog.LevelError, "the registry has failed; restart the gateway", "err", m.Err))
	}
	s.starts.forget(m.Child)
	out = s.nextStarts(out)
	if m.Child == s.meta {
		s.meta = kernel.Reference{}
		return append(out, kernel.Tell(s.registry, message.RemoveServer{Server: meta.Name}))
	}
	for name, ref := range s.pools {
		if ref == m.Child {
			delete(s.pools, name)
			return append(out, kernel.Tell(s.registry, message.RemoveServer{Server: name}))
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
	s.owners.left(m.Child)
	out = append(out, kernel.Tell(s.registry, message.Unsubscribe{Who: m.Child}))
	if len(s.waiting) > 0 && !s.draining {
		next := s.waiting[0]
		s.waiting = s.waiting[1:]
		return s.open(next, out)
	}
	return s.drained(out)
}

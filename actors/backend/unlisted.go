package backend

import (
	"strings"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// A server that offers nothing because its lists cannot be fetched is not ready even after a successful handshake, and
// the connection is opened again. If only some lists fail, the server is ready with the others, its status names the
// missing ones, and these are fetched again later.

// listLater schedules the next attempt to fetch a list that could not be fetched.
func (s *state) listLater(kind protocol.ItemKind, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.lists[kind]
	l.paused = l.changedMeanwhile || l.refetch // further changes are fetched after the pause
	return append(out, kernel.WakeAfter(jitter(s.rng, s.backoff(l.tries)), listDue{s.conn.incarnation, kind, l.fetches}))
}

// listDue fetches the list again, unless that has happened meanwhile. It also does so in phase Syncing, while other
// lists are fetched for the first time, since the timer fires only once.
func (s *state) listDue(m listDue, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.lists[m.kind]
	if s.life.phase != message.Ready && s.life.phase != message.Syncing || l.running || l.fetches != m.fetches {
		return out
	}
	return s.fetch(m.kind, out)
}

// unlisted describes the declared lists that could not be fetched, "" = none. It also reports whether the others have
// items.
func (s *state) unlisted() (missing string, some bool) {
	var kinds []string
	why := ""
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		switch l := &s.conn.lists[kind]; {
		case !l.wanted || !s.catalog:
		case l.failure == "":
			some = some || l.count > 0
		default:
			kinds, why = append(kinds, kind.String()), l.failure
		}
	}
	if len(kinds) == 0 {
		return "", some
	}
	return "its " + strings.Join(kinds, " and ") + " could not be listed: " + why, some
}

// explain reports to the pool which lists are missing and why, if that has changed.
func (s *state) explain(out []kernel.Effect) []kernel.Effect {
	reason, _ := s.unlisted()
	if s.life.phase != message.Ready || reason == s.life.reason {
		return out
	}
	s.life.reason = reason
	return append(out, kernel.Tell(s.pool, message.BackendChanged{
		Backend: s.self, Replica: s.replica, Phase: s.life.phase, Incarnation: uint64(s.conn.incarnation), Reason: reason, Info: s.conn.info, Known: s.life.known,
	}))
}

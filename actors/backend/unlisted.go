package backend

import (
	"strings"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// A server that offers nothing because its lists cannot be fetched is not ready, whatever its handshake says: it is
// connected to again. One that fails to give some of them serves with the others, says which are missing, and is asked
// for these again.

// listLater schedules the next attempt to fetch a list that could not be fetched.
func (s *state) listLater(kind protocol.ItemKind, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.lists[kind]
	l.paused = l.changedMeanwhile || l.refetch // what changes in the meantime is fetched then, not at once
	return append(out, kernel.WakeAfter(jitter(s.rng, s.backoff(l.tries)), listDue{s.conn.incarnation, kind, l.fetches}))
}

// listDue fetches the list again, unless that has happened meanwhile. It also does so while other lists are still
// missing from the first sync; otherwise no one would do it later.
func (s *state) listDue(m listDue, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.lists[m.kind]
	if s.life.phase != message.Ready && s.life.phase != message.Syncing || l.running || l.fetches != m.fetches {
		return out
	}
	return s.fetch(m.kind, out)
}

// unlisted returns which promised lists could not be fetched, "" = none, and whether the others contain anything.
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

// explain tells the pool when the set of missing lists has changed.
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

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

// listLater sets the time at which a list that could not be fetched is asked for again.
func (s *state) listLater(kind protocol.ItemKind, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.lists[kind]
	l.paused = l.changedMeanwhile || l.refetch // what changes in the meantime is fetched then, not at once
	return append(out, kernel.WakeAfter(jitter(s.rng, s.backoff(l.tries)), listDue{s.conn.incarnation, kind, l.fetches}))
}

// listDue asks for it again, unless that has been done meanwhile. While other lists are still to come for the first time
// it is asked for as well, or nobody would do so later.
func (s *state) listDue(m listDue, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.lists[m.kind]
	if s.life.phase != message.Ready && s.life.phase != message.Syncing || l.running || l.fetches != m.fetches {
		return out
	}
	return s.fetch(m.kind, out)
}

// unlisted says which of the lists the server promised could not be fetched, "" = none, and whether there is
// anything in the others.
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

// explain tells the pool when what is missing has changed.
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

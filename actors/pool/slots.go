package pool

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// spawned: the backend of a slot can be spoken to. It hears what it has missed.
func (s *state) spawned(m spawned, out []kernel.Effect) []kernel.Effect {
	sl := s.slot(m.number)
	if sl == nil {
		return out
	}
	sl.ref = m.ref
	switch {
	case sl.leaving:
		return append(out, kernel.Tell(sl.ref, message.Drain{}))
	case s.levelFor(sl) != "":
		return append(out, kernel.Tell(sl.ref, message.SetLevel{Level: s.levelFor(sl)}))
	}
	return out
}

// replicas is how many backends the configuration wants.
func (s *state) replicas() int { return s.server.ReplicaCount() }

// spawnAll starts the main backends.
func (s *state) spawnAll(now time.Time, out []kernel.Effect) []kernel.Effect {
	for replica := range s.replicas() {
		if _, _, runs := s.server.Replica(replica); runs {
			out = s.spawnSlot(now, &slot{replica: replica, main: true, can: message.CanAll}, out)
		}
	}
	return out
}

func (s *state) spawnSlot(now time.Time, sl *slot, out []kernel.Effect) []kernel.Effect {
	s.number++
	entry, own, _ := s.server.Replica(sl.replica)
	sl.labels = entry.Labels
	sl.number, sl.phase, sl.since, sl.down = s.number, message.Idle, now, now
	s.slots = append(s.slots, sl)
	before := uint64(0)
	if sl.main { // others count for themselves: they replace nobody
		before = s.connections[sl.replica]
	}
	key, _ := s.loginOf(sl)
	return append(out, kernel.Act(spawn{
		login:  key,
		server: s.settingsOf(sl.replica), entry: entryFor(sl, entry), own: own, member: s.memberOf(sl), replica: sl.replica, number: sl.number, announce: sl.can, catalog: sl.main, legacy: sl.legacy,
		known: s.eras[identity(s.server, sl.replica)], before: before,
	}))
}

// toAllBut tells every backend but some.
func (s *state) toAllBut(msg any, not func(*slot) bool, out []kernel.Effect) []kernel.Effect {
	for _, sl := range s.slots {
		if !not(sl) {
			out = append(out, kernel.Tell(sl.ref, msg))
		}
	}
	return out
}

func (s *state) slot(number int) *slot {
	for _, sl := range s.slots {
		if sl.number == number {
			return sl
		}
	}
	return nil
}

func (s *state) slotOf(ref kernel.Reference) *slot {
	for _, sl := range s.slots {
		if sl.ref == ref {
			return sl
		}
	}
	return nil
}

package pool

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// retireDue: what takes the place of a backend has had its time.
type retireDue struct{ number int }

// retire has a backend go when another has taken its place: until then it takes calls, so that no moment is without one. It goes
// without a successor when that has failed to start, since it may be in the way (a lock, a port), or took longer than a start may.
func (s *state) retire(sl *slot, out []kernel.Effect) []kernel.Effect {
	switch {
	case sl.leaving || sl.retiring:
		return out
	case sl.phase != message.Ready || sl.lost:
		return s.dismiss(sl, out)
	}
	sl.retiring = true
	return append(out, kernel.WakeAfter(s.settingsOf(sl.replica).StartTimeout, retireDue{sl.number}))
}

// retireDue has a backend go that nobody has replaced in time.
func (s *state) retireDue(now time.Time, m retireDue, out []kernel.Effect) []kernel.Effect {
	if sl := s.slot(m.number); sl != nil && sl.retiring && !sl.leaving {
		return s.gone(now, s.dismiss(sl, out))
	}
	return out
}

// relieve has those go whose place a backend takes that is ready now, for everybody to see, or has failed: the one before it and,
// when it is ready, those that nobody is to follow.
func (s *state) relieve(by *slot, out []kernel.Effect) []kernel.Effect {
	if !by.main || by.retiring || by.leaving {
		return out
	}
	for _, old := range s.slots {
		if old.retiring && !old.leaving && (old.replica == by.replica || by.phase == message.Ready && !s.runs(old.replica)) {
			out = s.dismiss(old, out)
		}
	}
	return out
}

// relieved has a backend go that has lost its connection while it waited for its successor.
func (s *state) relieved(sl *slot, out []kernel.Effect) []kernel.Effect {
	if !sl.retiring || sl.leaving || sl.phase == message.Ready || sl.phase == message.Draining {
		return out
	}
	return s.dismiss(sl, out)
}

// relieveSurplus has those go at once that nobody is to follow, when another is ready.
func (s *state) relieveSurplus(out []kernel.Effect) []kernel.Effect {
	for _, sl := range s.slots {
		if sl.main && !sl.retiring && !sl.leaving && sl.shown() == message.Ready {
			return s.relieve(sl, out)
		}
	}
	return out
}

// runs reports whether there is to be such a replica.
func (s *state) runs(replica int) bool {
	_, _, runs := s.server.Replica(replica)
	return runs
}

// retires reports whether a connection to the replica still waits for its successor.
func (s *state) retires(replica int) bool {
	for _, sl := range s.slots {
		if sl.replica == replica && sl.main && sl.retiring && !sl.leaving {
			return true
		}
	}
	return false
}

// gone follows backends that take no more calls: what waited for them and has nobody else fails, another leads.
func (s *state) gone(now time.Time, out []kernel.Effect) []kernel.Effect {
	return s.lead(s.failWaitingSubscribes(s.failHopeless(now, out)))
}

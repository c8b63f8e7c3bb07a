package actors

import (
	"maps"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// startTurn is how long a start counts. One that takes longer (a download, a server that hangs) waits for something else than
// this machine, and must not keep others from starting.
const startTurn = time.Second

// gathering is how long wishes to start are gathered before they get turns, unless somebody waits: servers that ask at the same
// time, as all do at first, come in the order of the configuration, whoever was the quickest to ask.
const gathering = time.Millisecond

// starts is whose turn it is to start a process: so many at the same time as limits.startsAtOnce says, over all servers. Each that
// starts, or wants to, is a backend of a pool; both end with the pool.
type starts struct {
	running map[start]uint64 // the number of its turn
	waiting []*waitingStart  // in the order in which they came
	turns   uint64           // that there have been
	gathers bool             // wishes are being gathered
}

// start names a backend.
type start struct {
	pool   kernel.Reference
	number int
}

type waitingStart struct {
	start
	ask message.RequestStartSlot
}

// startOverdue: a start has had its turn.
type startOverdue struct {
	start
	turn uint64
}

// startsGathered: those who have asked at the same time have asked.
type startsGathered struct{}

// ofStarts handles what is about turns to start.
func (s *state) ofStarts(msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.RequestStartSlot:
		return s.askStart(m, out)
	case startsGathered:
		s.starts.gathers = false
	case message.ReleaseStartSlot:
		s.starts.end(start{m.Pool, m.Number})
	case message.StartSlotsReset:
		s.starts.forget(m.Pool)
	case startOverdue:
		if s.starts.running[m.start] == m.turn {
			delete(s.starts.running, m.start)
		}
	default:
		return out
	}
	return s.nextStarts(out)
}

// askStart notes who wants to start. A pool that has ended is not listened to: the news of its end overtakes what it said before.
func (s *state) askStart(m message.RequestStartSlot, out []kernel.Effect) []kernel.Effect {
	if !s.isRunning(m.Pool) {
		return out
	}
	who := start{m.Pool, m.Number}
	if i := slices.IndexFunc(s.starts.waiting, func(w *waitingStart) bool { return w.start == who }); i >= 0 {
		s.starts.waiting[i].ask = m
	} else {
		s.starts.waiting = append(s.starts.waiting, &waitingStart{who, m})
	}
	switch {
	case m.Wanted || m.Lost:
		return s.nextStarts(out)
	case s.starts.gathers:
		return out
	}
	s.starts.gathers = true
	return append(out, kernel.WakeAfter(gathering, startsGathered{}))
}

func (s *state) isRunning(pool kernel.Reference) bool {
	for _, ref := range s.pools {
		if ref == pool {
			return true
		}
	}
	return false
}

// nextStarts gives turns as long as there are any.
func (s *state) nextStarts(out []kernel.Effect) []kernel.Effect {
	most := s.config.Limits.StartsAtOnce
	for len(s.starts.waiting) > 0 && (!s.starts.gathers || s.starts.hurries()) && (most == 0 || len(s.starts.running) < most) {
		next := s.starts.take()
		s.starts.turns++
		if s.starts.running == nil {
			s.starts.running = map[start]uint64{}
		}
		s.starts.running[next] = s.starts.turns
		out = append(out, kernel.Tell(next.pool, message.StartSlotGranted{Number: next.number}), kernel.WakeAfter(startTurn, startOverdue{next, s.starts.turns}))
	}
	return out
}

// hurries reports whether somebody must not wait until all have asked.
func (t *starts) hurries() bool {
	return slices.ContainsFunc(t.waiting, func(w *waitingStart) bool { return w.ask.Wanted || w.ask.Lost })
}

// take takes out whose turn is next.
func (t *starts) take() start {
	best := 0
	for i, w := range t.waiting {
		if sooner(w.ask, t.waiting[best].ask) {
			best = i
		}
	}
	next := t.waiting[best].start
	t.waiting = slices.Delete(t.waiting, best, best+1)
	return next
}

// sooner reports whether a starts before b, which has asked before it: first those that somebody waits for, then those that have
// lost their connection, then those that start for the first time, in the order of the configuration. The others, which
// have failed before, come last and one after the other, so that however many there are each has its turn.
func sooner(a, b message.RequestStartSlot) bool {
	rank := func(m message.RequestStartSlot) int {
		switch {
		case m.Wanted:
			return 0
		case m.Lost:
			return 1
		case !m.Retries:
			return 2
		}
		return 3
	}
	if ra, rb := rank(a), rank(b); ra != rb {
		return ra < rb
	}
	return rank(a) == 2 && a.Order < b.Order
}

// end takes back a turn, or the wish for one.
func (t *starts) end(who start) {
	delete(t.running, who)
	t.waiting = slices.DeleteFunc(t.waiting, func(w *waitingStart) bool { return w.start == who })
}

// forget ends all of a pool.
func (t *starts) forget(pool kernel.Reference) {
	maps.DeleteFunc(t.running, func(who start, _ uint64) bool { return who.pool == pool })
	t.waiting = slices.DeleteFunc(t.waiting, func(w *waitingStart) bool { return w.pool == pool })
}

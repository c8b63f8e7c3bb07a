package registry

import (
	"time"

	"goblin-actor/actors/kernel"
)

const (
	// pause is the shortest time between two publications that clients are told of.
	pause = 250 * time.Millisecond
	// hurriedChanges is how many changes of a server that has just come are published before the pause is over: it gets ready, and has
	// a list of each kind. Clients that look find them; they are told when the pause is over.
	hurriedChanges = 8
	// Between two builds that nobody has to wait for there is a time that grows with the catalog, so that a hundred servers that get
	// ready one by one do not have all of it built a hundred times in a row: a build takes about a microsecond an item.
	earlyLeast  = time.Millisecond
	earlyAnItem = 20 * time.Microsecond
)

// pace says when the next snapshot may go out.
type pace struct {
	told   time.Time     // when the last one went out that clients were told of; zero = never, or the next one may not wait for it
	built  time.Time     // when the last one did
	gap    time.Duration // from there to the next that may go out early
	hurry  bool          // what changed is of a server that has just come
	behind bool          // the last one went out early: clients are still to be told of it

	late, soon alarm // of the end of the pause, and of what may go out before
}

// alarm is a clock of which one runs at most.
type alarm struct {
	waiting    bool
	until      time.Time
	generation uint64 // of the newest; older ones, of before a restart, count for nothing
}

// due: an alarm has come.
type due struct {
	early      bool
	generation uint64
}

// hasten has the next snapshot go out now: what an operator has changed waits for no pause.
func (p *pace) hasten() { p.told = time.Time{} }

// changedFor notes that something of a server has changed.
func (s *state) changedFor(of *served) {
	s.dirty = true
	if of.hurried < hurriedChanges {
		of.hurried++
		s.pace.hurry = true
	}
}

// next is when the next snapshot may go out, and whether clients are not told of it yet then.
func (p *pace) next(now time.Time, dirty bool) (at time.Time, early bool) {
	if p.told.IsZero() {
		return now, false
	}
	at = p.told.Add(pause)
	if soon := p.built.Add(p.gap); at.After(now) && dirty && p.hurry && soon.Before(at) {
		return soon, true
	}
	return at, false
}

// wait has the registry woken at that time, unless it is before.
func (p *pace) wait(now, at time.Time, early bool, out []kernel.Effect) []kernel.Effect {
	a := p.alarm(early)
	if a.waiting && !a.until.After(at) {
		return out
	}
	a.waiting, a.until = true, at
	a.generation++
	return append(out, kernel.WakeAfter(at.Sub(now), due{early, a.generation}))
}

func (p *pace) alarm(early bool) *alarm {
	if early {
		return &p.soon
	}
	return &p.late
}

// came notes that an alarm has come.
func (p *pace) came(m due) {
	if a := p.alarm(m.early); a.generation == m.generation {
		a.waiting = false
	}
}

// restarted: the alarms are gone.
func (p *pace) restarted() { p.late.waiting, p.soon.waiting = false, false }

// published notes that a snapshot of so many items goes out, and whether clients notice.
func (p *pace) published(now time.Time, early, noticed bool, items int) {
	p.hurry = false
	p.built, p.gap = now, max(earlyLeast, time.Duration(items)*earlyAnItem)
	if !early && (noticed || p.behind) {
		p.told = now
	}
	p.behind = early
}

package registry

import (
	"time"

	"goblin-actor/actors/kernel"
)

const (
	// pause is the shortest interval between two notifications of clients.
	pause = 250 * time.Millisecond
	// hurriedChanges is the number of changes of a new server that are published without waiting for the pause: the server
	// becomes ready, and has one list of each kind. Clients that list see them; they are notified after the pause.
	hurriedChanges = 8
	// Between two early snapshots there is a gap that grows with the catalog. If a hundred servers become ready one by
	// one, the catalog is not built a hundred times. Building takes about a microsecond per item.
	earlyLeast  = time.Millisecond
	earlyAnItem = 20 * time.Microsecond
)

// pace decides when the next snapshot may be published.
type pace struct {
	notified time.Time     // when clients were last notified; zero = never, or the next snapshot need not wait
	built    time.Time     // when the last snapshot was published
	gap      time.Duration // from built to the next snapshot that may be published early
	hurry    bool          // the change is of a new server
	behind   bool          // the last snapshot was published early; clients still have to be notified

	late, soon alarm // timers for the end of the pause and of the gap
}

// alarm is a timer of which at most one runs.
type alarm struct {
	waiting    bool
	until      time.Time
	generation uint64 // of the newest timer; older ones are ignored
}

// alarmFired reports that an alarm has fired.
type alarmFired struct {
	early      bool
	generation uint64
}

// hasten lets the next snapshot be published without a pause, because it contains an operator's change.
func (p *pace) hasten() { p.notified = time.Time{} }

// changedFor records a change of a server.
func (s *state) changedFor(of *serverState) {
	s.dirty = true
	if of.hurried < hurriedChanges {
		of.hurried++
		s.pace.hurry = true
	}
}

// next returns when the next snapshot may be published, and whether it is then published early: without notifying clients.
func (p *pace) next(now time.Time, dirty bool) (at time.Time, early bool) {
	if p.notified.IsZero() {
		return now, false
	}
	at = p.notified.Add(pause)
	if soon := p.built.Add(p.gap); at.After(now) && dirty && p.hurry && soon.Before(at) {
		return soon, true
	}
	return at, false
}

// wait sets an alarm for that time, unless one is set for that time or earlier.
func (p *pace) wait(now, at time.Time, early bool, out []kernel.Effect) []kernel.Effect {
	a := p.alarm(early)
	if a.waiting && !a.until.After(at) {
		return out
	}
	a.waiting, a.until = true, at
	a.generation++
	return append(out, kernel.WakeAfter(at.Sub(now), alarmFired{early, a.generation}))
}

func (p *pace) alarm(early bool) *alarm {
	if early {
		return &p.soon
	}
	return &p.late
}

// fired records that an alarm has fired.
func (p *pace) fired(m alarmFired) {
	if a := p.alarm(m.early); a.generation == m.generation {
		a.waiting = false
	}
}

// restarted records that the timers were lost in a restart.
func (p *pace) restarted() { p.late.waiting, p.soon.waiting = false, false }

// published records that a snapshot with the given number of items was published, and whether clients notice a change.
func (p *pace) published(now time.Time, early, noticed bool, items int) {
	p.hurry = false
	p.built, p.gap = now, max(earlyLeast, time.Duration(items)*earlyAnItem)
	if !early && (noticed || p.behind) {
		p.notified = now
	}
	p.behind = early
}

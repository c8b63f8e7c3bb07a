package tui

import "time"

// messagesPause is the minimum time over which the actors' messages are counted.
const messagesPause = time.Second

// messages holds how many messages the actors handle. It is immutable.
type messages struct {
	at        time.Time
	handled   map[string]uint64  // until at, by name of the actor
	perSecond map[string]float64 // in the time before at
}

// rate returns how many messages an actor handles a second, or -1 if that is not known yet.
func (m messages) rate(actor string) float64 {
	if perSecond, known := m.perSecond[actor]; known {
		return perSecond
	}
	return -1
}

// next returns the counts of a newer Picture, or m if it is less than messagesPause newer.
func (m messages) next(p *Picture) messages {
	passed := p.Now.Sub(m.at)
	if passed < messagesPause && passed >= 0 {
		return m
	}
	next := messages{at: p.Now, handled: make(map[string]uint64, len(p.Actors)), perSecond: make(map[string]float64, len(p.Actors))}
	for i := range p.Actors {
		a := &p.Actors[i]
		next.handled[a.Name] = a.Handled
		if was, known := m.handled[a.Name]; known && a.Handled >= was && passed > 0 {
			next.perSecond[a.Name] = float64(a.Handled-was) / passed.Seconds()
		}
	}
	return next
}

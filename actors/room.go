package actors

import (
	"slices"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// Who has most sessions makes room when there are as many as may be (limits.maxSessions): whoever opens many loses its own, and nobody can open
// so many that others have none. Listen streams are sessions here.

// owner is whose a session is, as far as fairness goes.
type owner struct {
	name  string // the principal; where nobody was asked, the client's address, on this machine with what the client calls itself
	asked bool   // it is a principal
}

// ownerOf is whose a session is that a client opens. x is nil when it is opened by a stream.
func ownerOf(a *message.Admitted, o *downstream.Origin, x *downstream.Exchange) owner {
	if principal := a.Principal(); principal != "" {
		return owner{principal, true}
	}
	if x == nil {
		return owner{name: downstream.HostOf(o.Remote)}
	}
	return owner{name: message.ClientKey(x, a.Who)}
}

// guest is a client that comes for a session or a listen stream: exactly one of them is set.
type guest struct {
	session *message.OpenSession
	listen  *message.OpenSubscription
	owner   owner
	subs    int // what it is subscribed to from the beginning
}

func sessionGuest(m message.OpenSession) guest {
	o := (*downstream.Origin)(nil)
	if m.Stream != nil {
		o = &m.Stream.Origin
	}
	return guest{session: &m, owner: ownerOf(&m.Admitted, o, m.Exchange)}
}

func listenGuest(m message.OpenSubscription) guest {
	return guest{listen: &m, owner: ownerOf(&m.Admitted, nil, m.Exchange), subs: m.Subscriptions}
}

func (g *guest) admitted() *message.Admitted {
	if g.session != nil {
		return &g.session.Admitted
	}
	return &g.listen.Admitted
}

// refuse tells the client why it gets nothing.
func (g *guest) refuse(why *protocol.Fault) kernel.Effect {
	if g.session != nil {
		return kernel.Act(refuseSession{*g.session, why})
	}
	return kernel.Act(refuseListen{*g.listen, why})
}

// makeRoom asks as many sessions to leave as clients wait; clients for whom there is none are refused.
func (s *state) makeRoom(out []kernel.Effect) []kernel.Effect {
	if !s.polling {
		return out
	}
	s.polling = false
	s.gen++
	room := s.candidates()
	stay := s.waiting[:min(len(s.asked), len(s.waiting))] // for whom others were asked before
	for _, g := range s.waiting[len(stay):] {
		leaves, streams := room.pick(g.owner, s.config.Limits.MaxSessions)
		if leaves.IsZero() {
			out = append(out, g.refuse(message.NoRoom(kernel.Overloaded)))
			continue
		}
		s.asked[leaves] = true
		out = append(out, kernel.Tell(leaves, message.CloseIfIdle{Streams: streams}))
		stay = append(stay, g)
	}
	s.waiting, s.survey = stay, nil
	return out
}

// stays forgets that a session was asked to leave, as it does not: others are asked for the client that waits.
func (s *state) stays(m message.SessionBusy, out []kernel.Effect) []kernel.Effect {
	if delete(s.asked, m.Session); len(s.waiting) <= len(s.asked) {
		return out
	}
	return s.ask(out)
}

// candidates are the sessions that may be asked to leave, by whose they are.
func (s *state) candidates() *candidates {
	c := &candidates{count: map[owner]int{}, by: map[owner]*leaving{}}
	slices.SortFunc(s.survey, func(a, b message.IdleSince) int { return a.At.Compare(b.At) })
	for who, n := range s.owners.count {
		c.count[who] = n
	}
	for _, a := range s.survey {
		who, known := s.owners.of[a.Session]
		if !known || a.Calls || s.asked[a.Session] || !s.sessions.Has(a.Session) {
			continue
		}
		of := c.by[who]
		if of == nil {
			of = &leaving{owner: who}
			c.by[who] = of
			c.all = append(c.all, of)
		}
		if a.Streams {
			of.streams = append(of.streams, a.Session)
		} else {
			of.idle = append(of.idle, a.Session)
		}
	}
	return c
}

// candidates are sessions without calls, the least recently used of each owner first.
type candidates struct {
	count map[owner]int // of all sessions, those of clients that wait for a place included once they have one
	by    map[owner]*leaving
	all   []*leaving // in a fixed order
}

type leaving struct {
	owner         owner
	idle, streams []kernel.Reference // without streams, and with
}

// pick chooses the session that makes room for another one of a client: an idle one of whoever has most, who is nobody that has less than the
// client. When there is none, but one principal has more than half of all that may be, one of its sessions with a stream goes. Zero = there is
// none.
func (c *candidates) pick(client owner, most int) (leaves kernel.Reference, streams bool) {
	var idle, hog *leaving
	for _, of := range c.all {
		if len(of.idle) > 0 && (idle == nil || c.count[of.owner] > c.count[idle.owner]) {
			idle = of
		}
		if len(of.streams) > 0 && of.owner.asked && of.owner != client && c.count[of.owner] > most/2 {
			hog = of
		}
	}
	own := c.by[client]
	switch {
	case idle != nil && c.count[idle.owner] > c.count[client]:
		leaves, idle.idle = idle.idle[0], idle.idle[1:]
		c.count[idle.owner]--
		c.count[client]++
	case own != nil && len(own.idle) > 0:
		leaves, own.idle = own.idle[0], own.idle[1:]
	case idle != nil && c.count[idle.owner] == c.count[client]:
		leaves, idle.idle = idle.idle[0], idle.idle[1:]
		c.count[idle.owner]--
		c.count[client]++
	case hog != nil:
		leaves, hog.streams, streams = hog.streams[0], hog.streams[1:], true
		c.count[hog.owner]--
		c.count[client]++
	}
	return leaves, streams
}

// givePlace takes the newest of those who wait from the owner of whom most do, if these are more than the client's own by two: it is refused in the
// client's place. It returns nil when nobody gives.
func (s *state) givePlace(g *guest, out []kernel.Effect) (*guest, []kernel.Effect) {
	count, most := map[owner]int{}, g.owner
	for i := range s.waiting {
		who := s.waiting[i].owner
		if count[who]++; count[who] > count[most] {
			most = who
		}
	}
	if count[most] < count[g.owner]+2 {
		return nil, out
	}
	for i := len(s.waiting) - 1; i >= 0; i-- {
		if s.waiting[i].owner == most {
			gives := s.waiting[i]
			s.waiting = slices.Delete(s.waiting, i, i+1)
			return &gives, append(out, gives.refuse(message.NoRoom(kernel.Overloaded)))
		}
	}
	return nil, out
}

package actors

import (
	"strconv"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/session"
	"goblin-actor/internal/cluster"
)

// The id of a session of a cluster says all that a node needs to open it. Therefore each node remembers the sessions that have ended, so
// that it does not open them again. Nodes tell each other with hints. A node that joins asks another one for the sessions whose clients
// have ended them; a session that ended because it was idle may go on there.

// Limits of the sessions that a node remembers.
const (
	maxEnded   = 100_000
	endedTime  = cluster.EndedTime * time.Second
	endedSweep = 10 * time.Minute
)

// endedSessions are the sessions that have ended. One is forgotten after endedTime, or when there are more than maxEnded.
type endedSessions struct {
	numbers  map[cluster.EndedKey]uint64
	list     []endedSession // in the order in which this node has learned of them
	first    uint64         // number of the first one in list
	sweeping bool           // the timer is set
}

type endedSession struct {
	key     cluster.EndedKey
	since   time.Time
	deleted bool // its client or an operator has ended it
}

// sweepEnded says that it is time to forget old sessions.
type sweepEnded struct{}

// Effects.
type (
	refuseEnded struct{ open message.OpenSession } // answers that the session has ended
	endUnopened struct{ message.EndUnopened }      // passes the request on to the session's actor, or remembers that the session has ended
	answerEnded struct{ do func() }
	tellEnded   struct{ id string } // tells the session's actor, if there is one, that the client has ended the session
)

func (s *state) stepEnded(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	v := &s.sessions.ended
	switch m := msg.(type) {
	case message.RememberEnded:
		key, ok := cluster.EndedKeyOf(m.ID)
		if !ok || !v.add(endedSession{key, now, m.Deleted}) {
			return out
		}
		s.sessions.notes.forget(m.ID, func(*keptNote) bool { return true })
		if m.Deleted {
			out = append(out, kernel.Act(tellEnded{m.ID}))
		}
	case message.RememberAllEnded:
		out = s.sessions.tellAllEnded(v.addAll(now, m.List), out)
	case message.EndUnopened:
		id := m.Exchange.Origin.SessionID
		if v.has(id) {
			return append(out, kernel.Act(answerEnded{func() { message.RefuseNoSession(m.Exchange) }}))
		}
		return append(out, kernel.Act(endUnopened{m}))
	case message.AskEnded:
		ended := v.has(m.ID)
		return append(out, kernel.Act(answerEnded{func() { m.Reply(ended) }}))
	case message.ListEnded:
		list, next := v.page(now, m.After)
		return append(out, kernel.Act(answerEnded{func() { m.Reply(list, next) }}))
	case sweepEnded:
		v.sweeping = false
		v.forget(func(e *endedSession) bool { return now.Sub(e.since) >= endedTime })
	}
	if v.sweeping || len(v.list) == 0 {
		return out
	}
	v.sweeping = true
	return append(out, kernel.WakeAfter(endedSweep, sweepEnded{}))
}

// add remembers a session. It reports whether that is news.
func (v *endedSessions) add(e endedSession) bool {
	if number, ok := v.numbers[e.key]; ok {
		known := &v.list[number-v.first]
		news := e.deleted && !known.deleted
		known.deleted = known.deleted || e.deleted
		return news
	}
	if len(v.list) >= maxEnded {
		v.forget(func(*endedSession) bool { return len(v.list) >= maxEnded })
	}
	if v.numbers == nil {
		v.numbers = map[cluster.EndedKey]uint64{}
	}
	v.numbers[e.key] = v.first + uint64(len(v.list))
	v.list = append(v.list, e)
	return true
}

// addAll remembers the sessions that another node knows. It returns those that are news.
func (v *endedSessions) addAll(now time.Time, list []cluster.EndedSession) map[cluster.EndedKey]bool {
	news := map[cluster.EndedKey]bool{}
	for _, m := range list {
		e := endedSession{since: now.Add(-time.Duration(m.Age) * time.Second), deleted: true}
		copy(e.key[:], m.Key)
		if now.Sub(e.since) < endedTime && v.add(e) {
			news[e.key] = true
		}
	}
	return news
}

// has reports whether the session with that id has ended.
func (v *endedSessions) has(id string) bool {
	if len(v.list) == 0 {
		return false
	}
	key, _ := cluster.EndedKeyOf(id)
	_, ok := v.numbers[key]
	return ok
}

// forget removes the first sessions while which returns true.
func (v *endedSessions) forget(which func(*endedSession) bool) {
	for len(v.list) > 0 && which(&v.list[0]) {
		delete(v.numbers, v.list[0].key)
		v.list = v.list[1:]
		v.first++
	}
}

// page returns sessions whose clients or operators have ended them, and where the next page begins; "" = there is none.
func (v *endedSessions) page(now time.Time, after string) (list []cluster.EndedSession, next string) {
	number, _ := strconv.ParseUint(after, 10, 64) // the number of a session that is forgotten stands for the first one
	number = max(number, v.first)
	for ; number-v.first < uint64(len(v.list)); number++ {
		e := &v.list[number-v.first]
		age := now.Sub(e.since)
		if !e.deleted || age >= endedTime {
			continue
		}
		if len(list) == cluster.MaxEnded {
			return list, strconv.FormatUint(number, 10)
		}
		list = append(list, cluster.EndedSession{Key: string(e.key[:]), Age: max(0, int64(age/time.Second))})
	}
	return list, ""
}

// tellAllEnded tells the sessions of this node that their clients have ended them.
func (v *sessions) tellAllEnded(keys map[cluster.EndedKey]bool, out []kernel.Effect) []kernel.Effect {
	if len(keys) == 0 {
		return out
	}
	for _, ref := range v.members.All() {
		if key, ok := cluster.EndedKeyOf(session.IDOf(ref.Name())); ok && keys[key] {
			out = append(out, kernel.Tell(ref, message.EndedElsewhere{}))
		}
	}
	return out
}

// endedAct executes an effect of stepEnded.
func (g *gateway) endedAct(self kernel.Self, act any) {
	switch a := act.(type) {
	case answerEnded:
		a.do()
	case refuseEnded:
		if a.open.Stream != nil {
			a.open.Stream.Refuse(404, nil, 0)
			return
		}
		message.RefuseNoSession(a.open.Exchange)
	case tellEnded:
		if ref, ok := g.system.Lookup(session.FullName(a.id)); ok {
			ref.Tell(message.EndedElsewhere{})
		}
	case endUnopened:
		id := a.Exchange.Origin.SessionID
		if _, ok := g.Gateway.session(id); ok { // it was opened just before
			a.Again()
			return
		}
		self.Next(message.RememberEnded{ID: id, Deleted: true})
		g.tellMembership(message.TellNodes{Hint: cluster.Hint{Kind: cluster.HintEnded, Session: id, Holder: a.Holder, Deleted: true}})
		a.Exchange.Accept()
	}
}

// rememberEnded remembers that a session has ended, as a hint of another node says. The hint must name the holder of a session that
// another node can open.
func (g *Gateway) rememberEnded(h *cluster.Hint) {
	if _, facts, err := g.cluster.Secrets.OpenSession(h.Session); err != nil || facts.Holder != h.Holder || !facts.Movable() {
		return
	}
	g.self.Tell(message.RememberEnded{ID: h.Session, Deleted: h.Deleted})
}

// listEnded answers the question of another node for the sessions that have ended. It implements membership.ListEnded.
func (g *Gateway) listEnded(after string, reply func(list []cluster.EndedSession, next string)) {
	g.self.Tell(message.ListEnded{After: after, Reply: reply})
}

// heardEnded remembers ended sessions that another node knows.
func (g *Gateway) heardEnded(list []cluster.EndedSession) {
	g.self.Tell(message.RememberAllEnded{List: list})
}

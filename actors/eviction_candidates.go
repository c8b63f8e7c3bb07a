package actors

import (
	"maps"
	"slices"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// candidates holds the sessions that may be closed: those without running calls, by owner.
type candidates struct {
	guests   []kernel.Reference // of all owners, the least recently used first
	guestsOf []owner            // guestsOf[i] is the owner of guests[i]
	sessions map[owner]int      // the number of sessions of each owner; take moves a session from its owner to the waiting client
	by       map[owner]*ownCandidates
	all      []*ownCandidates // in the order of their least recently used sessions
}

// ownCandidates holds the candidates of one owner, the least recently used first.
type ownCandidates struct {
	owner     owner
	idle      []kernel.Reference // without streams
	streaming []kernel.Reference // with streams
}

// candidates returns the sessions that may be closed, according to the survey's answers.
func (e *eviction) candidates(all *sessions) *candidates {
	c := &candidates{sessions: maps.Clone(all.owners.sessions), by: map[owner]*ownCandidates{}}
	slices.SortFunc(e.answers, func(a, b message.IdleSince) int { return a.At.Compare(b.At) })
	for _, a := range e.answers {
		who, known := all.owners.of[a.Session]
		if !known || a.Calls || e.closing[a.Session] || !all.members.Has(a.Session) {
			continue
		}
		if a.Guest {
			c.guests = append(c.guests, a.Session)
			c.guestsOf = append(c.guestsOf, who)
			continue
		}
		of := c.by[who]
		if of == nil {
			of = &ownCandidates{owner: who}
			c.by[who] = of
			c.all = append(c.all, of)
		}
		if a.Streams {
			of.streaming = append(of.streaming, a.Session)
		} else {
			of.idle = append(of.idle, a.Session)
		}
	}
	return c
}

// pick returns the session to close for a new session of the client. A guest is closed first, because its client loses nothing.
// A new guest closes no other sessions. Without guests, it is an idle session of the owner who, among those
// with idle sessions, has the most sessions, if that owner has more sessions than the client. Otherwise it is an idle
// session of the client or, if the client has none, of an owner with as many sessions as the client. If there is no such
// session and another principal has more than half of the limit, it is a session of that principal with a stream, and the
// result streams is true. If no session can be closed, pick returns the zero Reference.
func (c *candidates) pick(client owner, guest bool, limit int) (leaves kernel.Reference, streams bool) {
	if len(c.guests) > 0 {
		of := c.guestsOf[0]
		c.guestsOf = c.guestsOf[1:]
		return c.take(&c.guests, of, client), false
	}
	if guest {
		return kernel.Reference{}, false
	}
	var idle, hog *ownCandidates
	for _, of := range c.all {
		if len(of.idle) > 0 && (idle == nil || c.sessions[of.owner] > c.sessions[idle.owner]) {
			idle = of
		}
		if len(of.streaming) > 0 && of.owner.authenticated && of.owner != client && c.sessions[of.owner] > limit/2 {
			hog = of
		}
	}
	own := c.by[client]
	switch {
	case idle != nil && c.sessions[idle.owner] > c.sessions[client]:
		return c.take(&idle.idle, idle.owner, client), false
	case own != nil && len(own.idle) > 0:
		return c.take(&own.idle, client, client), false
	case idle != nil && c.sessions[idle.owner] == c.sessions[client]:
		return c.take(&idle.idle, idle.owner, client), false
	case hog != nil:
		return c.take(&hog.streaming, hog.owner, client), true
	}
	return kernel.Reference{}, false
}

// take removes and returns the first of list, and counts it for client instead of from.
func (c *candidates) take(list *[]kernel.Reference, from, client owner) kernel.Reference {
	first := (*list)[0]
	*list = (*list)[1:]
	c.sessions[from]--
	c.sessions[client]++
	return first
}

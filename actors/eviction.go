package actors

import (
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

const (
	surveyTime        = 200 * time.Millisecond // maximum time for sessions to answer a survey
	maxWaitingClients = 256                    // maximum number of clients that wait for a session
)

// eviction closes sessions to make room for new ones when limits.maxSessions is reached. It prefers a session of the owner with
// the most sessions (see candidates.pick), so a client that opens many sessions loses its own and cannot lock other clients out.
type eviction struct {
	waiting    []openRequest             // clients waiting for a session to end, in order of arrival
	closing    map[kernel.Reference]bool // sessions that were requested to end
	surveying  bool
	answers    []message.IdleSince // to the running survey
	generation uint64              // of the survey; timers of earlier surveys and answers to them are ignored
}

// surveyDue arrives when surveyTime has passed.
type surveyDue struct{ generation uint64 }

func newEviction() eviction { return eviction{closing: map[kernel.Reference]bool{}} }

func (s *state) stepEviction(msg any, out []kernel.Effect) []kernel.Effect {
	e := &s.eviction
	switch m := msg.(type) {
	case message.SessionBusy: // the session stays; the waiting client needs another one
		if delete(e.closing, m.Session); len(e.waiting) > len(e.closing) {
			return e.survey(s.self, &s.sessions, out)
		}
	case message.IdleSince:
		if m.Survey != e.generation {
			return out
		}
		if e.answers = append(e.answers, m); len(e.answers) >= s.sessions.members.Len() {
			return e.choose(&s.sessions, s.config.Limits.MaxSessions, out)
		}
	case surveyDue:
		if m.generation == e.generation {
			return e.choose(&s.sessions, s.config.Limits.MaxSessions, out)
		}
	}
	return out
}

// enqueue adds a client to those waiting for a session. If too many wait, it refuses one of them or the new one. It reports
// whether the new one waits.
func (e *eviction) enqueue(next openRequest, out []kernel.Effect) ([]kernel.Effect, bool) {
	if len(e.waiting) >= maxWaitingClients {
		i := e.displaced(next.owner)
		if i < 0 {
			return append(out, next.refuse(message.NoRoom(kernel.Overloaded))), false
		}
		out = append(out, e.waiting[i].refuse(message.NoRoom(kernel.Overloaded)))
		e.waiting = slices.Delete(e.waiting, i, i+1)
	}
	e.waiting = append(e.waiting, next)
	return out, true
}

// displaced returns the index of the waiting request to refuse in favor of a request of the owner who: the newest request
// of the owner with the most waiting requests, if those are at least two more than the requests of the owner who. It
// returns -1 if there is none.
func (e *eviction) displaced(who owner) int {
	count, most := map[owner]int{}, who
	for i := range e.waiting {
		of := e.waiting[i].owner
		if count[of]++; count[of] > count[most] {
			most = of
		}
	}
	if count[most] < count[who]+2 {
		return -1
	}
	for i := len(e.waiting) - 1; i >= 0; i-- {
		if e.waiting[i].owner == most {
			return i
		}
	}
	return -1
}

// survey asks all sessions how long they have been idle, unless a survey is running.
func (e *eviction) survey(self kernel.Reference, all *sessions, out []kernel.Effect) []kernel.Effect {
	if e.surveying {
		return out
	}
	e.surveying, e.answers = true, nil
	e.generation++
	out = all.tell(message.QueryIdleSince{To: self, Survey: e.generation}, out)
	return append(out, kernel.WakeAfter(surveyTime, surveyDue{e.generation}))
}

// choose ends the survey. For each waiting client for which no session is closing yet, it asks one session to end. If it finds
// none, it refuses the client.
func (e *eviction) choose(all *sessions, limit int, out []kernel.Effect) []kernel.Effect {
	if !e.surveying {
		return out
	}
	e.surveying = false
	e.generation++
	idle := e.candidates(all)
	stay := e.waiting[:min(len(e.closing), len(e.waiting))] // for these, sessions are already closing
	for _, next := range e.waiting[len(stay):] {
		leaves, streams := idle.pick(next.owner, next.isGuest(), limit)
		if leaves.IsZero() {
			out = append(out, next.refuse(message.NoRoom(kernel.Overloaded)))
			continue
		}
		e.closing[leaves] = true
		out = append(out, kernel.Tell(leaves, message.CloseIfIdle{Streams: streams}))
		stay = append(stay, next)
	}
	e.waiting, e.answers = stay, nil
	return out
}

// sessionEnded records the end of a session. It returns the waiting client that may open a session instead. There is none if no
// client waits or the gateway is draining.
func (e *eviction) sessionEnded(ref kernel.Reference, draining bool) (next openRequest, waits bool) {
	delete(e.closing, ref)
	if len(e.waiting) == 0 || draining {
		return openRequest{}, false
	}
	next, e.waiting = e.waiting[0], e.waiting[1:]
	return next, true
}

// refuseAll refuses all waiting clients.
func (e *eviction) refuseAll(why *protocol.Fault, out []kernel.Effect) []kernel.Effect {
	for i := range e.waiting {
		out = append(out, e.waiting[i].refuse(why))
	}
	e.waiting = nil
	return out
}

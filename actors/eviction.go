package actors

import (
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

const (
	surveyTime        = 200 * time.Millisecond // how long sessions have to answer a survey
	maxWaitingClients = 256                    // clients waiting for a session
)

// eviction closes sessions to make room for new ones when limits.maxSessions is reached. It closes a session of the owner with
// the most sessions, so a client that opens many sessions loses its own and cannot lock other clients out.
type eviction struct {
	waiting    []openRequest             // clients waiting for a session to end, in order of arrival
	closing    map[kernel.Reference]bool // sessions that were requested to end
	surveying  bool
	answers    []message.IdleSince // to the running survey
	generation uint64              // of the survey; timers of earlier surveys are ignored
}

// surveyDue arrives when surveyTime has passed.
type surveyDue struct{ generation uint64 }

func newEviction() eviction { return eviction{closing: map[kernel.Reference]bool{}} }

func (s *state) stepEviction(msg any, out []kernel.Effect) []kernel.Effect {
	r := &s.eviction
	switch m := msg.(type) {
	case message.SessionBusy: // it does not end; the waiting client needs another
		if delete(r.closing, m.Session); len(r.waiting) > len(r.closing) {
			return r.survey(s.self, &s.sessions, out)
		}
	case message.IdleSince:
		if r.answers = append(r.answers, m); len(r.answers) >= s.sessions.members.Len() {
			return r.choose(&s.sessions, s.config.Limits.MaxSessions, out)
		}
	case surveyDue:
		if m.generation == r.generation {
			return r.choose(&s.sessions, s.config.Limits.MaxSessions, out)
		}
	}
	return out
}

// enqueue adds a client to those waiting for a session. If too many wait, it refuses one of them or the new one. It reports
// whether the new one waits.
func (r *eviction) enqueue(next openRequest, out []kernel.Effect) ([]kernel.Effect, bool) {
	if len(r.waiting) >= maxWaitingClients {
		i := r.displaced(next.owner)
		if i < 0 {
			return append(out, next.refuse(message.NoRoom(kernel.Overloaded))), false
		}
		out = append(out, r.waiting[i].refuse(message.NoRoom(kernel.Overloaded)))
		r.waiting = slices.Delete(r.waiting, i, i+1)
	}
	r.waiting = append(r.waiting, next)
	return out, true
}

// displaced returns the index of the waiting request to refuse in favor of a request of who: the newest request of the owner
// with the most waiting requests, if that owner has at least two more than who. It returns -1 if there is none.
func (r *eviction) displaced(who owner) int {
	count, most := map[owner]int{}, who
	for i := range r.waiting {
		of := r.waiting[i].owner
		if count[of]++; count[of] > count[most] {
			most = of
		}
	}
	if count[most] < count[who]+2 {
		return -1
	}
	for i := len(r.waiting) - 1; i >= 0; i-- {
		if r.waiting[i].owner == most {
			return i
		}
	}
	return -1
}

// survey asks all sessions how long they have been idle, unless a survey is running.
func (r *eviction) survey(self kernel.Reference, all *sessions, out []kernel.Effect) []kernel.Effect {
	if r.surveying {
		return out
	}
	r.surveying, r.answers = true, nil
	r.generation++
	out = all.tell(message.QueryIdleSince{To: self}, out)
	return append(out, kernel.WakeAfter(surveyTime, surveyDue{r.generation}))
}

// choose ends the survey. For each waiting client it requests one session to end, and it refuses the clients for which it finds
// none.
func (r *eviction) choose(all *sessions, limit int, out []kernel.Effect) []kernel.Effect {
	if !r.surveying {
		return out
	}
	r.surveying = false
	r.generation++
	idle := r.candidates(all)
	stay := r.waiting[:min(len(r.closing), len(r.waiting))] // sessions are closing for these already
	for _, next := range r.waiting[len(stay):] {
		leaves, streams := idle.pick(next.owner, limit)
		if leaves.IsZero() {
			out = append(out, next.refuse(message.NoRoom(kernel.Overloaded)))
			continue
		}
		r.closing[leaves] = true
		out = append(out, kernel.Tell(leaves, message.CloseIfIdle{Streams: streams}))
		stay = append(stay, next)
	}
	r.waiting, r.answers = stay, nil
	return out
}

// sessionEnded records the end of a session. It returns the client that takes its place, unless no client waits or the gateway
// is draining.
func (r *eviction) sessionEnded(ref kernel.Reference, draining bool) (next openRequest, waits bool) {
	delete(r.closing, ref)
	if len(r.waiting) == 0 || draining {
		return openRequest{}, false
	}
	next, r.waiting = r.waiting[0], r.waiting[1:]
	return next, true
}

// refuseAll refuses all waiting clients.
func (r *eviction) refuseAll(why *protocol.Fault, out []kernel.Effect) []kernel.Effect {
	for i := range r.waiting {
		out = append(out, r.waiting[i].refuse(why))
	}
	r.waiting = nil
	return out
}

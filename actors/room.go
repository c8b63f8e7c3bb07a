package actors

import (
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

const (
	surveyTime = 200 * time.Millisecond // how long sessions have to answer a survey
	maxWaiting = 256                    // clients waiting for room
)

// room makes room for new sessions when limits.maxSessions is reached. The owner with the most sessions gives one up, so a
// client that opens many closes its own and cannot keep others out.
type room struct {
	waiting    []openRequest             // clients waiting for a session to end, in order of arrival
	asked      map[kernel.Reference]bool // sessions asked to end
	surveying  bool
	answers    []message.IdleSince // to the running survey
	generation uint64              // of the survey; a timer of an older one is ignored
}

// surveyDue reports that surveyTime has passed.
type surveyDue struct{ generation uint64 }

func newRoom() room { return room{asked: map[kernel.Reference]bool{}} }

func (s *state) stepRoom(msg any, out []kernel.Effect) []kernel.Effect {
	r := &s.room
	switch m := msg.(type) {
	case message.SessionBusy: // it does not end: others are asked for the client that waits
		if delete(r.asked, m.Session); len(r.waiting) > len(r.asked) {
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

// enqueue has a client wait for room. If too many wait, one of them or the new one is refused; enqueue reports whether the new
// one waits.
func (r *room) enqueue(next openRequest, out []kernel.Effect) ([]kernel.Effect, bool) {
	if len(r.waiting) >= maxWaiting {
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

// displaced returns the index of the waiting request that gives its place to one of who: the newest of the owner with the most
// waiting requests, if that has at least two more than who. It returns -1 if there is none.
func (r *room) displaced(who owner) int {
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

// survey asks all sessions whether they are idle, unless a survey is running.
func (r *room) survey(self kernel.Reference, all *sessions, out []kernel.Effect) []kernel.Effect {
	if r.surveying {
		return out
	}
	r.surveying, r.answers = true, nil
	r.generation++
	out = all.tell(message.QueryIdleSince{To: self}, out)
	return append(out, kernel.WakeAfter(surveyTime, surveyDue{r.generation}))
}

// choose ends the survey. It asks one session to end for each waiting client and refuses the clients for which it finds none.
func (r *room) choose(all *sessions, limit int, out []kernel.Effect) []kernel.Effect {
	if !r.surveying {
		return out
	}
	r.surveying = false
	r.generation++
	idle := r.candidates(all)
	stay := r.waiting[:min(len(r.asked), len(r.waiting))] // sessions have been asked for these already
	for _, next := range r.waiting[len(stay):] {
		leaves, streams := idle.pick(next.owner, limit)
		if leaves.IsZero() {
			out = append(out, next.refuse(message.NoRoom(kernel.Overloaded)))
			continue
		}
		r.asked[leaves] = true
		out = append(out, kernel.Tell(leaves, message.CloseIfIdle{Streams: streams}))
		stay = append(stay, next)
	}
	r.waiting, r.answers = stay, nil
	return out
}

// sessionEnded removes a session from those asked to end. It returns the client that takes its place, unless no client waits or
// the gateway drains.
func (r *room) sessionEnded(ref kernel.Reference, draining bool) (next openRequest, waits bool) {
	delete(r.asked, ref)
	if len(r.waiting) == 0 || draining {
		return openRequest{}, false
	}
	next, r.waiting = r.waiting[0], r.waiting[1:]
	return next, true
}

// refuseAll refuses the clients that wait.
func (r *room) refuseAll(why *protocol.Fault, out []kernel.Effect) []kernel.Effect {
	for i := range r.waiting {
		out = append(out, r.waiting[i].refuse(why))
	}
	r.waiting = nil
	return out
}

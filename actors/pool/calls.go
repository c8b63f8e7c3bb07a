package pool

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// Isolations: who shares a connection.
const (
	isolationClass  = "class"  // clients with the same capabilities
	isolationLeased = "leased" // one running call at a time
)

// dispatch gives a call to a backend, or queues it, or answers it.
func (s *state) dispatch(now time.Time, q queued, out []kernel.Effect) []kernel.Effect {
	if q.Request.Unlisted && !s.mentionsTo(q.Request.Tenant.KeyOf()).has(q.Request.Item) {
		return append(out, s.answer(q.Dispatch, unmentioned(q.Request)))
	}
	out = s.wake(now, out)
	if q.Request.Tenant != nil {
		out = s.wantsLevel(q.Request.Tenant, out)
	}
	w := s.wants(q.Request)
	if s.hasRoom(q.Request) {
		if sl := s.pick(w, q.Request); sl != nil {
			return s.give(now, sl, q, out)
		}
		out = s.grow(now, w, &q, out)
	}
	if !s.mayServe(now, w) {
		return s.turnAway(now, &q, w, out)
	}
	if until := s.heldBack(now, w); until.After(s.deadlineOf(now, &q)) {
		return append(out, s.refuse(&q, s.rateLimited(now, until)))
	}
	return s.enqueue(now, q, out)
}

// hasRoom reports whether the call may run beside those that do. Calls that wait, at a question or for the end of a task, do
// not count.
func (s *state) hasRoom(r *message.Request) bool { return r.Waits() || s.hasRoomForMore() }

func (s *state) hasRoomForMore() bool {
	return s.server.MaxConcurrent == 0 || len(s.running)-s.parked-s.waiting < s.server.MaxConcurrent
}

// takes reports whether the slot could take such a call now.
func (s *state) takes(sl *slot, w wanted, r *message.Request) bool {
	return sl.phase == message.Ready && !sl.leaving && !sl.lost && s.pauses.end(s.now, sl).IsZero() && s.serves(w, sl) && w.replicaIs(sl) && !s.differs(w, sl) && (!s.isLeased() || r.AboutTask() || sl.inFlight == 0)
}

// pick chooses among the backends that take such a call: the one that made the task it is about, or that asked, else in turn or
// the least busy. nil: none.
func (s *state) pick(w wanted, r *message.Request) *slot {
	if sl := s.pickKnown(w, r); sl != nil {
		return sl
	}
	if len(s.slots) == 1 { // the usual case
		if sl := s.slots[0]; s.takes(sl, w, r) {
			return sl
		}
		return nil
	}
	if w.prefer != nil && !w.prefer.Required {
		if sl := s.pickOf(w, r, w.prefer); sl != nil {
			return sl
		}
	}
	return s.pickOf(w, r, nil)
}

// pickOf is pick among those whose replicas meet what is preferred, if anything is.
func (s *state) pickOf(w wanted, r *message.Request, prefer *message.Prefer) *slot {
	var best *slot
	for i := range s.slots {
		sl := s.slots[(s.turn+1+i)%len(s.slots)]
		if !s.takes(sl, w, r) || prefer != nil && !prefer.IsMetBy(sl.labels) {
			continue
		}
		if best == nil || s.server.Balance == "least-busy" && sl.inFlight < best.inFlight {
			best = sl
		}
	}
	return best
}

// pickKnown is the backend that knows what the call is about, if it takes it: a task it has made, or what a modern server asked.
func (s *state) pickKnown(w wanted, r *message.Request) *slot {
	if r.Home != nil {
		if sl := s.slotOf(r.Home.Backend); sl != nil && s.takes(sl, w, r) {
			return sl
		}
	}
	if !r.Modern || !r.Params.RequestState.Present() || len(s.slots) < 2 {
		return nil
	}
	for _, sl := range s.slots {
		if s.takes(sl, w, r) && sl.info != nil && protocol.IsModern(sl.info.Version) {
			return sl
		}
	}
	return nil
}

// give sends a call to a backend.
func (s *state) give(now time.Time, sl *slot, q queued, out []kernel.Effect) []kernel.Effect {
	if len(s.slots) > 1 {
		for i := range s.slots {
			if s.slots[i] == sl {
				s.turn = i
			}
		}
	}
	s.queue.last = q.client()
	sl.used = now
	r := &run{at: sl, waits: q.Request.Waits(), deadline: q.deadline, broken: q.broken}
	s.running[q.Call] = r
	s.count(r, 1)
	if wait := now.Sub(q.since); wait > 0 {
		out = append(out, kernel.Act(waited{wait}))
	}
	send := message.Send{Call: q.Call, Request: q.Request, Pool: s.self, Backend: sl.ref}
	if q.broken != nil {
		send.Reached = q.broken.Reached
	}
	return append(out, kernel.Tell(sl.ref, send))
}

// free takes a call out of the books.
func (s *state) free(call message.CallRef, r *run) {
	delete(s.running, call)
	s.rest.used = s.now
	s.count(r, -1)
}

// count adds n to the number of calls like this one.
func (s *state) count(r *run, n int) {
	switch {
	case r.parked:
		s.parked += n
	case r.waits:
		s.waiting += n
	default:
		r.at.inFlight += n
	}
}

// ended frees the slot of a call.
func (s *state) ended(now time.Time, m message.CallEnded, out []kernel.Effect) []kernel.Effect {
	r := s.running[m.Call]
	if r == nil || r.at.ref != m.Backend {
		return out
	}
	s.free(m.Call, r)
	if m.Pause > 0 {
		out = s.pause(now, r.at, m.Pause, out)
	}
	return s.pump(now, out)
}

// park notes that a call waits for its client, or no longer does. A server that has once asked in a way that does not
// say for which call gets one running call at a time on each connection from now on, so that its next question can be
// attributed.
func (s *state) park(now time.Time, m message.CallParked, out []kernel.Effect) []kernel.Effect {
	r := s.running[m.Call]
	if r == nil || r.at.ref != m.Backend || r.parked == m.Yes {
		return out
	}
	s.count(r, -1)
	r.parked = m.Yes
	s.count(r, 1)
	if !m.Yes {
		return out
	}
	if full := s.limits.ParkedPerServer; full > 0 && s.parked > full {
		fault := &protocol.Fault{Name: protocol.Overloaded, Server: s.server.Name, // its server has begun: not retryable
			Message: "too many calls of this server wait for answers of their clients (limits.parkedPerServer)"}
		out = append(out, kernel.Tell(r.at.ref, message.CancelSent{Call: m.Call, Reason: fault.Message}))
		return append(out, kernel.Tell(m.Call.Holder, message.Failed{Seq: m.Call.Seq, Fault: fault}))
	}
	return s.pump(now, out)
}

// mayServe reports whether such a call may wait for a backend: one is ready but busy, or comes (slot.comes), or is made when it is the
// call's turn.
func (s *state) mayServe(now time.Time, w wanted) bool {
	for _, sl := range s.slots {
		if sl.leaving || !w.replicaIs(sl) || s.differs(w, sl) || !s.serves(w, sl) && !sl.main {
			continue
		}
		if sl.phase == message.Ready && s.serves(w, sl) || sl.comes(now) {
			return true
		}
	}
	return s.growsLater(w)
}

// refuse answers a call that gets no connection: one that was written before is told what has become of that.
func (s *state) refuse(q *queued, f *protocol.Fault) kernel.Effect {
	if q.broken != nil {
		f = q.broken.Fault
	}
	return s.answer(q.Dispatch, f)
}

func (*state) answer(d message.Dispatch, f *protocol.Fault) kernel.Effect {
	return kernel.Tell(d.Call.Holder, message.Failed{Seq: d.Call.Seq, Fault: f})
}

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

// calls holds the calls of a server that run or wait, and the limits that make them wait.
type calls struct {
	running  map[message.CallRef]*run // each is at exactly one backend
	parked   int                      // running calls that wait for a client's answer
	waiting  int                      // running calls that only wait for the end of a task
	queue    callQueue
	doubt    doubt
	pauses   pauses
	rates    rateLimits
	timeouts timeouts
}

// run is a call at a backend.
type run struct {
	conn      *connection
	parked    bool // it waits for its client's answer
	waitsOnly bool // its server has nothing to do for it (message.Request.Waits)

	deadline  time.Time               // until when it may wait in the queue, if it has to again; zero = it has not waited
	broken    *message.ConnectionLost // it was sent before, to a connection that broke; nil = it was not
	cancelled bool                    // its holder wants no answer any more
	tried     []*connection           // connections that returned it; nil = none
}

// begin notes a call that is sent to a backend.
func (c *calls) begin(call message.CallRef, r *run) {
	c.running[call] = r
	c.count(r, 1)
}

// finish forgets a call that has left its backend.
func (c *calls) finish(call message.CallRef, r *run) {
	delete(c.running, call)
	c.count(r, -1)
}

// setParked notes whether a call waits for its client's answer.
func (c *calls) setParked(r *run, parked bool) {
	c.count(r, -1)
	r.parked = parked
	c.count(r, 1)
}

// count adds n to the counter that the call belongs to. Each running call is counted once: as parked, as waiting, or at its connection.
func (c *calls) count(r *run, n int) {
	switch {
	case r.parked:
		c.parked += n
	case r.waitsOnly:
		c.waiting += n
	default:
		r.conn.inFlight += n
	}
}

// working returns the number of running calls without parked and waiting ones: those that count for maxConcurrent.
func (c *calls) working() int { return len(c.running) - c.parked - c.waiting }

// stepCalls handles what happens to calls.
func (s *state) stepCalls(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.Dispatch:
		return s.dispatchLimited(now, m, out)
	case message.CallEnded:
		return s.callEnded(now, m, out)
	case message.Cancel:
		if m.TimedOut {
			out = s.recordTimeout(now, out)
		}
		return s.cancel(m, out)
	case message.NotExecuted:
		return s.callNotExecuted(now, m, out)
	case message.ConnectionLost:
		return s.connectionLost(now, m, out)
	case message.CallParked:
		return s.callParked(now, m, out)
	case message.UnattributedRequest:
		return s.beginDoubt(now, out)
	case queueExpired:
		return s.expireQueued(now, m, out)
	case timeoutsDue:
		return s.timeoutsDue(now, out)
	case doubtDue:
		return s.doubtDue(now, m, out)
	case pauseDue:
		return s.pauseDue(now, m, out)
	}
	return out
}

// dispatch gives a call to a backend, or queues it, or answers it.
func (s *state) dispatch(now time.Time, q queued, out []kernel.Effect) []kernel.Effect {
	if q.Request.Unlisted && !s.tenants.mentionsFor(q.Request.Tenant.KeyOf()).has(q.Request.Item) {
		return append(out, s.fail(q.Dispatch, unknownResource(q.Request)))
	}
	out = s.wake(now, out)
	if q.Request.Tenant != nil {
		out = s.updateLevel(q.Request.Tenant, out)
	}
	w := s.targetOf(q.Request)
	if s.hasRoomFor(q.Request) {
		if conn := s.pick(w, q.Request); conn != nil {
			return s.sendTo(now, conn, q, out)
		}
		out = s.addConnection(now, w, &q, out)
	}
	if !s.canBeServed(now, w) {
		return s.refuseOrAskLogin(now, &q, w, out)
	}
	if until := s.pausedUntil(now, w); until.After(s.queueDeadline(now, &q)) {
		return append(out, s.refuse(&q, s.rateLimitedFault(now, until)))
	}
	return s.enqueue(now, q, out)
}

// hasRoom reports whether the call may run beside those that do. Calls that wait, at a question or for the end of a task, do
// not count.
func (s *state) hasRoomFor(r *message.Request) bool { return r.Waits() || s.hasRoom() }

func (s *state) hasRoom() bool {
	return s.server.MaxConcurrent == 0 || s.calls.working() < s.server.MaxConcurrent
}

// takes reports whether the slot could take such a call now.
func (s *state) canTake(conn *connection, w target, r *message.Request) bool {
	return conn.phase == message.Ready && !conn.leaving && !conn.lost && s.calls.pauses.end(s.now, conn).IsZero() && s.matchesClass(w, conn) && w.allows(conn) && !s.definesDifferently(w, conn) && (!s.isLeased() || r.AboutTask() || conn.inFlight == 0)
}

// pick chooses among the backends that take such a call: the one that made the task it is about, or that asked, else in turn or
// the least busy. nil: none.
func (s *state) pick(w target, r *message.Request) *connection {
	if conn := s.pickOrigin(w, r); conn != nil {
		return conn
	}
	if len(s.replicas.connections) == 1 { // the usual case
		if conn := s.replicas.connections[0]; s.canTake(conn, w, r) {
			return conn
		}
		return nil
	}
	if w.prefer != nil && !w.prefer.Required {
		if conn := s.pickAmong(w, r, w.prefer); conn != nil {
			return conn
		}
	}
	return s.pickAmong(w, r, nil)
}

// pickOf is pick among those whose replicas meet what is preferred, if anything is.
func (s *state) pickAmong(w target, r *message.Request, prefer *message.Prefer) *connection {
	var best *connection
	for i := range s.replicas.connections {
		conn := s.replicas.connections[(s.replicas.lastPicked+1+i)%len(s.replicas.connections)]
		if !s.canTake(conn, w, r) || prefer != nil && !prefer.IsMetBy(conn.labels) {
			continue
		}
		if best == nil || s.server.Balance == "least-busy" && conn.inFlight < best.inFlight {
			best = conn
		}
	}
	return best
}

// pickKnown is the backend that knows what the call is about, if it takes it: a task it has made, or what a modern server asked.
func (s *state) pickOrigin(w target, r *message.Request) *connection {
	if r.Home != nil {
		if conn := s.replicas.byBackend(r.Home.Backend); conn != nil && s.canTake(conn, w, r) {
			return conn
		}
	}
	if !r.Modern || !r.Params.RequestState.Present() || len(s.replicas.connections) < 2 {
		return nil
	}
	for _, conn := range s.replicas.connections {
		if s.canTake(conn, w, r) && conn.catalog.info != nil && protocol.IsModern(conn.catalog.info.Version) {
			return conn
		}
	}
	return nil
}

// give sends a call to a backend.
func (s *state) sendTo(now time.Time, conn *connection, q queued, out []kernel.Effect) []kernel.Effect {
	if len(s.replicas.connections) > 1 {
		for i := range s.replicas.connections {
			if s.replicas.connections[i] == conn {
				s.replicas.lastPicked = i
			}
		}
	}
	s.calls.queue.lastClient = q.client()
	conn.usedAt = now
	r := &run{conn: conn, waitsOnly: q.Request.Waits(), deadline: q.deadline, broken: q.broken}
	s.calls.begin(q.Call, r)
	if wait := now.Sub(q.since); wait > 0 {
		out = append(out, kernel.Act(waited{wait}))
	}
	send := message.Send{Call: q.Call, Request: q.Request, Pool: s.self, Backend: conn.ref}
	if q.broken != nil {
		send.Reached = q.broken.Reached
	}
	return append(out, kernel.Tell(conn.ref, send))
}

// free takes a call out of the books.
func (s *state) finish(call message.CallRef, r *run) {
	s.calls.finish(call, r)
	s.idle.usedAt = s.now
}

// ended frees the slot of a call.
func (s *state) callEnded(now time.Time, m message.CallEnded, out []kernel.Effect) []kernel.Effect {
	r := s.calls.running[m.Call]
	if r == nil || r.conn.ref != m.Backend {
		return out
	}
	s.finish(m.Call, r)
	if m.Pause > 0 {
		out = s.beginPause(now, r.conn, m.Pause, out)
	}
	return s.sendQueued(now, out)
}

// park notes that a call waits for its client, or no longer does. A server that has once asked in a way that does not
// say for which call gets one running call at a time on each connection from now on, so that its next question can be
// attributed.
func (s *state) callParked(now time.Time, m message.CallParked, out []kernel.Effect) []kernel.Effect {
	r := s.calls.running[m.Call]
	if r == nil || r.conn.ref != m.Backend || r.parked == m.Yes {
		return out
	}
	s.calls.setParked(r, m.Yes)
	if !m.Yes {
		return out
	}
	if full := s.limits.ParkedPerServer; full > 0 && s.calls.parked > full {
		fault := &protocol.Fault{Name: protocol.Overloaded, Server: s.server.Name, // its server has begun: not retryable
			Message: "too many calls of this server wait for answers of their clients (limits.parkedPerServer)"}
		out = append(out, kernel.Tell(r.conn.ref, message.CancelSent{Call: m.Call, Reason: fault.Message}))
		return append(out, kernel.Tell(m.Call.Holder, message.Failed{Seq: m.Call.Seq, Fault: fault}))
	}
	return s.sendQueued(now, out)
}

// mayServe reports whether such a call may wait for a backend: one is ready but busy, or comes (slot.comes), or is made when it is the
// call's turn.
func (s *state) canBeServed(now time.Time, w target) bool {
	for _, conn := range s.replicas.connections {
		if conn.leaving || !w.allows(conn) || s.definesDifferently(w, conn) || !s.matchesClass(w, conn) && !conn.main {
			continue
		}
		if conn.phase == message.Ready && s.matchesClass(w, conn) || conn.isComing(now) {
			return true
		}
	}
	return s.canAddLater(w)
}

// refuse answers a call that gets no connection: one that was written before is told what has become of that.
func (s *state) refuse(q *queued, f *protocol.Fault) kernel.Effect {
	if q.broken != nil {
		f = q.broken.Fault
	}
	return s.fail(q.Dispatch, f)
}

func (*state) fail(d message.Dispatch, f *protocol.Fault) kernel.Effect {
	return kernel.Tell(d.Call.Holder, message.Failed{Seq: d.Call.Seq, Fault: f})
}

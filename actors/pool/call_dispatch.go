package pool

import (
	"fmt"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// dispatch sends a call to a backend, queues it, asks its user to log in, or fails it.
func (s *state) dispatch(now time.Time, q queued, out []kernel.Effect) []kernel.Effect {
	if q.Request.Unlisted && !s.wasMentioned(q.Request.Item, q.Request.Tenant) {
		return append(out, s.fail(q.Dispatch, unknownResource(q.Request)))
	}
	if s.isMisplaced(q.Request.Tenant) {
		return append(out, s.fail(q.Dispatch, s.misplacedFault()))
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

// hasRoomFor reports whether maxConcurrent allows the call to run now. A call that only waits for the end of a task
// is not limited.
func (s *state) hasRoomFor(r *message.Request) bool { return r.Waits() || s.hasRoom() }

// hasRoom reports whether fewer calls are working than maxConcurrent allows, or maxConcurrent sets no limit.
func (s *state) hasRoom() bool {
	return s.server.MaxConcurrent == 0 || s.calls.working() < s.server.MaxConcurrent
}

// sendTo sends a call to a connection's backend.
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
	if q.Request.Trace != nil {
		out = append(out, kernel.Act(traced{q.Request.Trace, now, now.Sub(q.since)}))
	}
	send := message.Send{Call: q.Call, Request: q.Request, Pool: s.self, Backend: conn.ref, Taken: now}
	if q.broken != nil {
		send.Reached = q.broken.Reached
	}
	return append(out, kernel.Tell(conn.ref, send))
}

// finish forgets a call that has left its backend. The call counts as use of a lazy server.
func (s *state) finish(call message.CallRef, r *run) {
	s.calls.finish(call, r)
	s.idle.usedAt = s.now
}

// callEnded forgets a finished call, begins a pause if the server answered HTTP 429, and sends queued calls.
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

// callParked records that a call waits for its client's answer, or no longer does. A parked call does not count toward
// maxConcurrent, so another call can run. If more than limits.parkedPerServer calls would be parked, this one is
// canceled and fails.
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
		fault := &protocol.Fault{Name: protocol.Overloaded, Server: s.server.Name, // not retryable: the server is already executing it
			Message: fmt.Sprintf("the call was canceled: more than %d calls to server %s wait for input from their clients (limits.parkedPerServer)", full, s.server.Name)}
		out = append(out, kernel.Tell(r.conn.ref, message.CancelSent{Call: m.Call, Reason: fault.Message}))
		return append(out, kernel.Tell(m.Call.Holder, message.Failed{Seq: m.Call.Seq, Fault: fault}))
	}
	return s.sendQueued(now, out)
}

// canBeServed reports whether a call for the target may wait: a suitable connection is ready but busy, will soon be
// ready (connection.soonReady), or can be opened when it is the call's turn.
func (s *state) canBeServed(now time.Time, w target) bool {
	for _, conn := range s.replicas.connections {
		if conn.leaving || !w.allows(conn) || s.definesDifferently(w, conn) || !s.matchesClass(w, conn) && !conn.main {
			continue
		}
		if conn.phase == message.Ready && s.matchesClass(w, conn) || conn.soonReady(now) {
			return true
		}
	}
	return s.canAddLater(w)
}

// refuse returns the effect that fails a call that gets no connection. A call whose connection or response broke before
// gets the fault of that loss.
func (s *state) refuse(q *queued, f *protocol.Fault) kernel.Effect {
	if q.broken != nil {
		f = q.broken.Fault
	}
	return s.fail(q.Dispatch, f)
}

// fail returns the effect that answers a call with a fault.
func (*state) fail(d message.Dispatch, f *protocol.Fault) kernel.Effect {
	return kernel.Tell(d.Call.Holder, message.Failed{Seq: d.Call.Seq, Fault: f})
}

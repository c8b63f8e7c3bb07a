package pool

import (
	"fmt"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// enqueue adds a call to the queue. If the queue is full, it refuses the newest call of the client with the most queued
// calls, or the given call if no other client has more than this one would have (victimFor). If it always refused the
// given call, the first client to fill the queue would lock out all others.
func (s *state) enqueue(now time.Time, q queued, out []kernel.Effect) []kernel.Effect {
	if s.calls.queue.len() >= s.server.Queue.Size {
		victim := s.calls.queue.victimFor(q.client())
		if victim == nil {
			return append(out, s.refuseQueueFull(&q))
		}
		s.calls.queue.remove(victim)
		out = append(out, s.refuseQueueFull(victim))
	}
	q.deadline = s.queueDeadline(now, &q)
	s.calls.queue.add(&q)
	return s.calls.queue.arm(now, s.raiseStartPriority(out))
}

// queueDeadline returns the time until which a call may wait in the queue.
func (s *state) queueDeadline(now time.Time, q *queued) time.Time {
	if q.deadline.IsZero() {
		return now.Add(s.server.Queue.Timeout)
	}
	return q.deadline
}

// refuseQueueFull refuses a call because the queue is full.
func (s *state) refuseQueueFull(q *queued) kernel.Effect {
	return s.refuse(q, &protocol.Fault{Name: protocol.QueueFull, Server: s.server.Name, Retryable: true,
		Message: fmt.Sprintf("the queue of server %s is full (queue.size: %d); the call was not sent; retry later", s.server.Name, s.server.Queue.Size)})
}

// sendQueued sends queued calls while there is room: one of each client in turn, each time the client's oldest that a
// connection can take.
func (s *state) sendQueued(now time.Time, out []kernel.Effect) []kernel.Effect {
	s.calls.queue.rotatePast()
	var stuck []target
	for given := true; given; {
		given = false
		for e := s.calls.queue.turns.Front(); e != nil; {
			if !s.maySendQueued() {
				return s.addForNext(now, out)
			}
			its := e.Value.(*clientQueue)
			e = e.Next()
			var q *queued
			var conn *connection
			if q, conn, stuck, out = s.firstSendable(now, its, stuck, out); q != nil {
				s.calls.queue.send(q)
				out = s.sendTo(now, conn, *q, out)
				given = true
			}
		}
	}
	return out
}

// maySendQueued reports whether any queued call might be sent now. It makes the usual case fast: a call ends, one
// queued call is sent, and no other client's queue is examined. Calls about tasks may be sent when others may not.
func (s *state) maySendQueued() bool {
	return s.calls.queue.taskCalls > 0 || s.hasRoom() && slices.ContainsFunc(s.replicas.connections, func(conn *connection) bool {
		return conn.phase == message.Ready && !conn.leaving && !conn.lost && s.calls.pauses.end(s.now, conn).IsZero() && (!s.isLeased() || conn.inFlight == 0)
	})
}

// addForNext opens another connection, if one is allowed, for the call whose turn is next.
func (s *state) addForNext(now time.Time, out []kernel.Effect) []kernel.Effect {
	if !s.hasRoom() {
		return out
	}
	next := s.calls.queue.turns.Front().Value.(*clientQueue).calls.Front().Value.(*queued)
	return s.addConnection(now, s.targetOf(next.Request), next, out)
}

// firstSendable returns the oldest call in a client's queue that a connection can take now, and that connection; nil if
// there is none. It may open a connection for a call. A call is refused if its tenant can get no connection until other
// tenants leave. The list stuck has the targets without a free connection, so that they are not examined again.
func (s *state) firstSendable(now time.Time, its *clientQueue, stuck []target, out []kernel.Effect) (*queued, *connection, []target, []kernel.Effect) {
	for e := its.calls.Front(); e != nil; {
		q := e.Value.(*queued)
		e = e.Next()
		w := s.targetOf(q.Request)
		if !s.hasRoomFor(q.Request) || !q.Request.AboutTask() && slices.Contains(stuck, w) {
			continue
		}
		if conn := s.pick(w, q.Request); conn != nil {
			return q, conn, stuck, out
		}
		if out = s.addConnection(now, w, q, out); s.isFull(w) { // the call would have to wait until other tenants leave
			s.calls.queue.remove(q)
			out = append(out, s.refuse(q, s.unavailableFault(now, w)))
			continue
		}
		if !q.Request.AboutTask() {
			stuck = append(stuck, w)
		}
	}
	return nil, nil, stuck, out
}

// expireQueued fails the calls whose deadline has passed. Timers other than the newest are ignored.
func (s *state) expireQueued(now time.Time, m queueExpired, out []kernel.Effect) []kernel.Effect {
	if m.timer != s.calls.queue.timer.number {
		return out
	}
	s.calls.queue.timer.armed = false
	for q := s.calls.queue.oldest(); q != nil && !now.Before(q.deadline); q = s.calls.queue.oldest() {
		s.calls.queue.remove(q)
		fault := s.queueTimeoutFault(now)
		if until := s.pausedUntil(now, s.targetOf(q.Request)); !until.IsZero() {
			fault = s.rateLimitedFault(now, until)
		}
		out = append(out, s.refuse(q, fault))
	}
	return s.calls.queue.arm(now, out)
}

// failQueue fails all queued calls.
func (s *state) failQueue(name protocol.FaultName, text string, out []kernel.Effect) []kernel.Effect {
	for q := s.calls.queue.oldest(); q != nil; q = s.calls.queue.oldest() {
		s.calls.queue.remove(q)
		out = append(out, s.refuse(q, &protocol.Fault{Name: name, Server: s.server.Name, Retryable: true, Message: text}))
	}
	return out
}

// failUnservable removes the queued calls that no connection can take now or soon. Each call fails, or its user is
// asked to log in.
func (s *state) failUnservable(now time.Time, out []kernel.Effect) []kernel.Effect {
	for e := s.calls.queue.byAge.Front(); e != nil; {
		q := e.Value.(*queued)
		e = e.Next()
		if w := s.targetOf(q.Request); !s.canBeServed(now, w) {
			s.calls.queue.remove(q)
			out = s.refuseOrAskLogin(now, q, w, out)
		}
	}
	return out
}

package pool

import (
	"fmt"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// enqueue has a call wait for a free slot. When as many wait as may, the client with the longest line loses its newest call to one that
// has fewer: else whoever is first to fill the queue would keep all others out of it.
func (s *state) enqueue(now time.Time, q queued, out []kernel.Effect) []kernel.Effect {
	if s.calls.queue.len() >= s.server.Queue.Size {
		loses := s.calls.queue.victimFor(q.client())
		if loses == nil {
			return append(out, s.refuseQueueFull(&q))
		}
		s.calls.queue.remove(loses)
		out = append(out, s.refuseQueueFull(loses))
	}
	q.deadline = s.queueDeadline(now, &q)
	s.calls.queue.add(&q)
	return s.calls.queue.arm(now, s.raiseStartPriority(out))
}

// deadlineOf returns until when a call may wait in the queue.
func (s *state) queueDeadline(now time.Time, q *queued) time.Time {
	if q.deadline.IsZero() {
		return now.Add(s.server.Queue.Timeout)
	}
	return q.deadline
}

// queueFull refuses a call that nobody has seen.
func (s *state) refuseQueueFull(q *queued) kernel.Effect {
	return s.refuse(q, &protocol.Fault{Name: protocol.QueueFull, Server: s.server.Name, Retryable: true,
		Message: fmt.Sprintf("server %s has as many calls waiting as may wait (queue.size: %d)", s.server.Name, s.server.Queue.Size)})
}

// pump gives queued calls to backends as long as there is room: a call of each client in turn, the oldest first.
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

// canGiveMore reports whether any call that waits may go out now: so the usual end of a call, for which the oldest of another client goes
// out, has no other line looked at. Calls about tasks may where others may not.
func (s *state) maySendQueued() bool {
	return s.calls.queue.taskCalls > 0 || s.hasRoom() && slices.ContainsFunc(s.replicas.connections, func(conn *connection) bool {
		return conn.phase == message.Ready && !conn.leaving && !conn.lost && s.calls.pauses.end(s.now, conn).IsZero() && (!s.isLeased() || conn.inFlight == 0)
	})
}

// growForNext has another connection made, if there may be one, for the call whose turn is next.
func (s *state) addForNext(now time.Time, out []kernel.Effect) []kernel.Effect {
	if !s.hasRoom() {
		return out
	}
	next := s.calls.queue.turns.Front().Value.(*clientQueue).calls.Front().Value.(*queued)
	return s.addConnection(now, s.targetOf(next.Request), next, out)
}

// firstOf is the oldest call of a line that a backend takes now, and that backend; nil = none does. stuck are the kinds of
// connections that have been found to take nothing more; they are not looked for again.
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
		if out = s.addConnection(now, w, q, out); s.isFull(w) { // it would wait for others to leave
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

// expire answers what has waited too long.
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

// failQueue answers all that is queued.
func (s *state) failQueue(name protocol.FaultName, text string, out []kernel.Effect) []kernel.Effect {
	for q := s.calls.queue.oldest(); q != nil; q = s.calls.queue.oldest() {
		s.calls.queue.remove(q)
		out = append(out, s.refuse(q, &protocol.Fault{Name: name, Server: s.server.Name, Retryable: true, Message: text}))
	}
	return out
}

// failHopeless answers the queued calls that no backend will take: they are not kept for a reconnect.
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

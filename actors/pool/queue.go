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
	if s.queue.len() >= s.server.Queue.Size {
		loses := s.queue.newestOfLongest(q.client())
		if loses == nil {
			return append(out, s.queueFull(&q))
		}
		s.queue.remove(loses)
		out = append(out, s.queueFull(loses))
	}
	q.deadline = s.deadlineOf(now, &q)
	s.queue.add(&q)
	if q.deadline.Before(s.rings) { // it has waited before
		s.armed = false
	}
	return s.arm(now, s.hurry(out))
}

// deadlineOf returns until when a call may wait in the queue.
func (s *state) deadlineOf(now time.Time, q *queued) time.Time {
	if q.deadline.IsZero() {
		return now.Add(s.server.Queue.Timeout)
	}
	return q.deadline
}

// queueFull refuses a call that nobody has seen.
func (s *state) queueFull(q *queued) kernel.Effect {
	return s.refuse(q, &protocol.Fault{Name: protocol.QueueFull, Server: s.server.Name, Retryable: true,
		Message: fmt.Sprintf("server %s has as many calls waiting as may wait (queue.size: %d)", s.server.Name, s.server.Queue.Size)})
}

// pump gives queued calls to backends as long as there is room: a call of each client in turn, the oldest first.
func (s *state) pump(now time.Time, out []kernel.Effect) []kernel.Effect {
	s.queue.passOver()
	var stuck []wanted
	for given := true; given; {
		given = false
		for e := s.queue.turns.Front(); e != nil; {
			if !s.canGiveMore() {
				return s.growForNext(now, out)
			}
			its := e.Value.(*line)
			e = e.Next()
			var q *queued
			var sl *slot
			if q, sl, stuck, out = s.firstOf(now, its, stuck, out); q != nil {
				s.queue.served(q)
				out = s.give(now, sl, *q, out)
				given = true
			}
		}
	}
	return out
}

// canGiveMore reports whether any call that waits may go out now: so the usual end of a call, for which the oldest of another client goes
// out, has no other line looked at. Calls about tasks may where others may not.
func (s *state) canGiveMore() bool {
	return s.queue.aboutTask > 0 || s.hasRoomForMore() && slices.ContainsFunc(s.slots, func(sl *slot) bool {
		return sl.phase == message.Ready && !sl.leaving && !sl.lost && s.pauses.end(s.now, sl).IsZero() && (!s.isLeased() || sl.inFlight == 0)
	})
}

// growForNext has another connection made, if there may be one, for the call whose turn is next.
func (s *state) growForNext(now time.Time, out []kernel.Effect) []kernel.Effect {
	if !s.hasRoomForMore() {
		return out
	}
	next := s.queue.turns.Front().Value.(*line).calls.Front().Value.(*queued)
	return s.grow(now, s.wants(next.Request), next, out)
}

// firstOf is the oldest call of a line that a backend takes now, and that backend; nil = none does. stuck are the kinds of
// connections that have been found to take nothing more; they are not looked for again.
func (s *state) firstOf(now time.Time, its *line, stuck []wanted, out []kernel.Effect) (*queued, *slot, []wanted, []kernel.Effect) {
	for e := its.calls.Front(); e != nil; {
		q := e.Value.(*queued)
		e = e.Next()
		w := s.wants(q.Request)
		if !s.hasRoom(q.Request) || !q.Request.AboutTask() && slices.Contains(stuck, w) {
			continue
		}
		if sl := s.pick(w, q.Request); sl != nil {
			return q, sl, stuck, out
		}
		if out = s.grow(now, w, q, out); s.isFull(w) { // it would wait for others to leave
			s.queue.remove(q)
			out = append(out, s.refuse(q, s.unavailableFault(now, w)))
			continue
		}
		if !q.Request.AboutTask() {
			stuck = append(stuck, w)
		}
	}
	return nil, nil, stuck, out
}

// arm starts the queue's timer when none runs. Deadlines grow with the age, so the oldest call's is the next.
func (s *state) arm(now time.Time, out []kernel.Effect) []kernel.Effect {
	oldest := s.queue.oldest()
	if s.armed || oldest == nil {
		return out
	}
	s.armed = true
	s.queueTimer++
	s.rings = oldest.deadline
	return append(out, kernel.WakeAfter(max(0, oldest.deadline.Sub(now)), queueExpired{s.queueTimer}))
}

// expire answers what has waited too long.
func (s *state) expire(now time.Time, m queueExpired, out []kernel.Effect) []kernel.Effect {
	if m.timer != s.queueTimer {
		return out
	}
	s.armed = false
	for q := s.queue.oldest(); q != nil && !now.Before(q.deadline); q = s.queue.oldest() {
		s.queue.remove(q)
		fault := s.waitedTooLong(now)
		if until := s.heldBack(now, s.wants(q.Request)); !until.IsZero() {
			fault = s.rateLimited(now, until)
		}
		out = append(out, s.refuse(q, fault))
	}
	return s.arm(now, out)
}

// failQueue answers all that is queued.
func (s *state) failQueue(name protocol.FaultName, text string, out []kernel.Effect) []kernel.Effect {
	for q := s.queue.oldest(); q != nil; q = s.queue.oldest() {
		s.queue.remove(q)
		out = append(out, s.refuse(q, &protocol.Fault{Name: name, Server: s.server.Name, Retryable: true, Message: text}))
	}
	return out
}

// failHopeless answers the queued calls that no backend will take: they are not kept for a reconnect.
func (s *state) failHopeless(now time.Time, out []kernel.Effect) []kernel.Effect {
	for e := s.queue.age.Front(); e != nil; {
		q := e.Value.(*queued)
		e = e.Next()
		if w := s.wants(q.Request); !s.mayServe(now, w) {
			s.queue.remove(q)
			out = s.turnAway(now, q, w, out)
		}
	}
	return out
}

package pool

import (
	"fmt"
	"strings"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// dispatch gives a call to a backend, or queues it, or answers it.
func (s *state) dispatch(now time.Time, q queued, out []effect) []effect {
	if sl := s.pick(); sl != nil && s.room() {
		return s.give(now, sl, q, out)
	}
	if s.pick() == nil && !s.mayComeUp() {
		return append(out, s.unavailable(now, q.Dispatch))
	}
	if len(s.queue) >= s.server.Queue.Size {
		return append(out, s.answer(q.Dispatch, &protocol.Fault{Name: protocol.QueueFull, Server: s.server.Name, Retryable: true,
			Message: fmt.Sprintf("server %s has %d calls waiting already", s.server.Name, len(s.queue))}))
	}
	if q.deadline.IsZero() {
		q.deadline = now.Add(s.server.Queue.Timeout)
	}
	s.queue = append(s.queue, q)
	return s.arm(now, out)
}

// room reports whether one more call may run.
func (s *state) room() bool {
	return s.server.MaxConcurrent == 0 || len(s.running) < s.server.MaxConcurrent
}

// pick chooses among the ready backends: in turn, or the least busy (S4.2.1). nil: none is ready.
func (s *state) pick() *slot {
	if len(s.slots) == 1 { // the usual case
		if sl := s.slots[0]; sl.phase == message.Ready && !sl.leaving {
			return sl
		}
		return nil
	}
	var best *slot
	for i := range s.slots {
		sl := s.slots[(s.turn+1+i)%len(s.slots)]
		if sl.phase != message.Ready || sl.leaving {
			continue
		}
		if best == nil || s.server.Balance == "least-busy" && sl.inFlight < best.inFlight {
			best = sl
		}
	}
	return best
}

// give sends a call to a backend.
func (s *state) give(now time.Time, sl *slot, q queued, out []effect) []effect {
	for i := range s.slots {
		if s.slots[i] == sl {
			s.turn = i
		}
	}
	sl.inFlight++
	s.running[q.Call] = sl
	if wait := now.Sub(q.since); wait > 0 {
		out = append(out, act(waited{wait}))
	}
	return append(out, tell(sl.ref, message.Send{Call: q.Call, Request: q.Request}))
}

// ended frees the slot of a call.
func (s *state) ended(now time.Time, m message.Ended, out []effect) []effect {
	sl := s.running[m.Call]
	if sl == nil || sl.ref != m.Backend {
		return out
	}
	delete(s.running, m.Call)
	sl.inFlight--
	if len(s.queue) == 0 {
		return out
	}
	return s.pump(now, out)
}

// returned tries another backend with a call that no server has seen (S4.2.3).
func (s *state) returned(now time.Time, m message.Returned, out []effect) []effect {
	sl := s.running[m.Call]
	if sl == nil || sl.ref != m.Backend {
		return out
	}
	delete(s.running, m.Call)
	sl.inFlight--
	d := message.Dispatch{Call: m.Call, Request: m.Request}
	if next := s.pick(); next != nil && next != sl && s.room() {
		return s.give(now, next, queued{Dispatch: d, since: now}, out)
	}
	if sl.leaving && s.mayComeUp() {
		return s.dispatch(now, queued{Dispatch: d, since: now}, out)
	}
	fault := s.unavailableFault(now)
	fault.Message += ": " + m.Reason
	return append(out, s.answer(d, fault))
}

// cancel drops a queued call, or has its backend withdraw it.
func (s *state) cancel(m message.Cancel, out []effect) []effect {
	if sl := s.running[m.Call]; sl != nil {
		return append(out, tell(sl.ref, message.Withdraw(m)))
	}
	for i := range s.queue {
		if s.queue[i].Call == m.Call {
			s.queue = append(s.queue[:i], s.queue[i+1:]...)
			break
		}
	}
	return out
}

// pump gives queued calls to backends while there is room.
func (s *state) pump(now time.Time, out []effect) []effect {
	for len(s.queue) > 0 && s.room() {
		sl := s.pick()
		if sl == nil {
			break
		}
		q := s.queue[0]
		s.queue[0] = queued{}
		s.queue = s.queue[1:]
		out = s.give(now, sl, q, out)
	}
	return out
}

// arm starts the queue's timer when none runs. Deadlines grow along the queue, so the first is the next.
func (s *state) arm(now time.Time, out []effect) []effect {
	if s.armed || len(s.queue) == 0 {
		return out
	}
	s.armed = true
	s.gen++
	return append(out, act(wakeAfter{max(0, s.queue[0].deadline.Sub(now)), queueExpired{s.gen}}))
}

// expire answers what has waited too long.
func (s *state) expire(now time.Time, m queueExpired, out []effect) []effect {
	if m.gen != s.gen {
		return out
	}
	s.armed = false
	for len(s.queue) > 0 && !now.Before(s.queue[0].deadline) {
		q := s.queue[0]
		s.queue[0] = queued{}
		s.queue = s.queue[1:]
		out = append(out, s.answer(q.Dispatch, &protocol.Fault{Name: protocol.QueueTimeout, Server: s.server.Name, Retryable: true,
			Message: fmt.Sprintf("server %s had no free slot for %s", s.server.Name, s.server.Queue.Timeout)}))
	}
	return s.arm(now, out)
}

// failQueue answers all that is queued.
func (s *state) failQueue(name protocol.FaultName, text string, out []effect) []effect {
	for _, q := range s.queue {
		out = append(out, s.answer(q.Dispatch, &protocol.Fault{Name: name, Server: s.server.Name, Retryable: true, Message: text}))
	}
	s.queue = nil
	return out
}

// mayComeUp reports whether a call may wait for a backend: one is in its first start, or replaces another.
// After a loss calls fail at once (contract.md section 2).
func (s *state) mayComeUp() bool {
	for _, sl := range s.slots {
		if !sl.leaving && !sl.hasFailed && (!sl.wasReady || sl.phase == message.Ready) {
			return true
		}
	}
	return false
}

func (s *state) unavailable(now time.Time, d message.Dispatch) effect {
	return s.answer(d, s.unavailableFault(now))
}

func (s *state) unavailableName() protocol.FaultName {
	if s.replicas() > 1 {
		return protocol.NoBackendsAvailable
	}
	return protocol.ServerUnavailable
}

// unavailableFault says why the server cannot be called and when it is tried next (S3.2.3, S4.3.3).
func (s *state) unavailableFault(now time.Time) *protocol.Fault {
	f := &protocol.Fault{Name: s.unavailableName(), Server: s.server.Name, Retryable: true, Message: s.whyUnavailable()}
	for _, sl := range s.slots {
		if d := sl.nextAttempt.Sub(now); !sl.leaving && sl.phase == message.Waiting && (f.RetryAfter == 0 || d < f.RetryAfter) {
			f.RetryAfter = max(d, time.Millisecond)
		}
	}
	return f
}

func (s *state) whyUnavailable() string {
	if s.fault != "" {
		return fmt.Sprintf("server %s is misconfigured: %s", s.server.Name, s.fault)
	}
	var why []string
	for _, sl := range s.slots {
		if !sl.leaving && sl.reason != "" {
			why = append(why, fmt.Sprintf("%s (%s)", sl.phase, sl.reason))
		}
	}
	text := fmt.Sprintf("server %s is unavailable", s.server.Name)
	if s.replicas() > 1 {
		text = fmt.Sprintf("server %s: no backends available", s.server.Name)
	}
	if len(why) > 0 {
		text += ": " + strings.Join(why, "; ")
	}
	return text
}

func (s *state) answer(d message.Dispatch, f *protocol.Fault) effect {
	return tell(d.Call.Holder, message.Failed{Seq: d.Call.Seq, Fault: f})
}

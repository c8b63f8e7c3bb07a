package pool

import (
	"fmt"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// returned tries another backend with a call that no server has seen, each of them once: while several cannot be
// reached they would pass it on to each other without end. A call whose client has left meanwhile ends here.
func (s *state) returned(now time.Time, m message.NotExecuted, out []kernel.Effect) []kernel.Effect {
	r := s.running[m.Call]
	switch {
	case r == nil: // from before a restart of ours, which nobody has answered; or it was, and its holder knows
		return append(out, s.answer(message.Dispatch{Call: m.Call}, s.notTaken(m.Reason)))
	case r.at.ref != m.Backend:
		return out
	}
	s.free(m.Call, r)
	if r.cancelled {
		return s.pump(now, out)
	}
	q, w := queued{Dispatch: message.Dispatch{Call: m.Call, Request: m.Request}, since: now, broken: r.broken}, s.wants(m.Request)
	if m.Login != nil {
		return s.pump(now, s.loginRefused(now, r.at, &q, w, m, out))
	}
	if w.at == r.at {
		w = s.wantsAnywhere(m.Request)
	}
	tried := append(r.tried, r.at)
	if next := s.another(w, m.Request, tried); next != nil {
		out = s.give(now, next, q, out)
		s.running[m.Call].tried = tried
		return s.pump(now, out)
	}
	switch {
	case m.Full:
	case r.at.leaving && s.mayServe(now, w):
		return s.pump(now, s.dispatch(now, q, out))
	case m.Lost || r.at.phase != message.Ready:
		r.at.lost = r.at.phase == message.Ready
		if s.mayServe(now, w) {
			q.deadline = r.deadline
			return s.enqueue(now, q, out)
		}
	}
	fault := s.unavailableFault(now, w)
	fault.Message += ": " + m.Reason
	if m.Full {
		fault = &protocol.Fault{Name: protocol.QueueFull, Server: s.server.Name, Retryable: true,
			Message: fmt.Sprintf("more calls at once than the connection to server %s takes in (maxConcurrent: %d); with fewer they wait in the queue instead", s.server.Name, s.server.MaxConcurrent)}
	}
	return s.pump(now, append(out, s.refuse(&q, fault)))
}

// notTaken says that no server has seen a call.
func (s *state) notTaken(reason string) *protocol.Fault {
	return &protocol.Fault{Name: protocol.ServerUnavailable, Server: s.server.Name, Retryable: true, Message: "the call was not sent to server " + s.server.Name + ": " + reason}
}

// another is a backend that has not been tried with the call.
func (s *state) another(w wanted, r *message.Request, tried []*slot) *slot {
	if !s.hasRoom(r) {
		return nil
	}
	for _, sl := range s.slots {
		if s.takes(sl, w, r) && !slices.Contains(tried, sl) {
			return sl
		}
	}
	return nil
}

// cancel drops a queued call, or has its backend withdraw it.
func (s *state) cancel(m message.Cancel, out []kernel.Effect) []kernel.Effect {
	if r := s.running[m.Call]; r != nil {
		r.cancelled = true
		return append(out, kernel.Tell(r.at.ref, message.CancelSent{Call: m.Call, Reason: m.Reason}))
	}
	delete(s.loginWaits, m.Call)
	if q := s.queue.calls[m.Call]; q != nil {
		s.queue.remove(q)
	}
	return out
}

package pool

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// lost finds a call another connection whose own has broken after it was written (retry.inFlight), once: of one that breaks every
// connection it comes to, the second loss is the last. Another replica takes it at once; else it waits for the next connection as
// long as any call may.
func (s *state) lost(now time.Time, m message.ConnectionLost, out []kernel.Effect) []kernel.Effect {
	r := s.running[m.Call]
	switch {
	case r == nil: // from before a restart of ours
		return append(out, kernel.Tell(m.Call.Holder, message.Failed{Seq: m.Call.Seq, Fault: m.Fault}))
	case r.at.ref != m.Backend:
		return out
	}
	s.free(m.Call, r)
	if r.cancelled {
		return s.pump(now, out)
	}
	d := message.Dispatch{Call: m.Call, Request: m.Request}
	if r.broken != nil || s.server.Retry.InFlight != "idempotent" {
		return s.pump(now, append(out, s.answer(d, m.Fault)))
	}
	q := queued{Dispatch: d, since: now, broken: &m}
	w := s.wants(m.Request)
	if w.at == r.at {
		w = s.wantsAnywhere(m.Request)
	}
	next := s.another(w, m.Request, []*slot{r.at})
	if next == nil {
		next = s.another(w, m.Request, nil) // it was the answer that broke off, and not the connection
	}
	switch {
	case next != nil:
		out = s.give(now, next, q, out)
	case s.mayServe(now, w):
		out = s.enqueue(now, q, out)
	default:
		out = append(out, s.answer(d, m.Fault))
	}
	return s.pump(now, out)
}

package pool

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// connectionLost handles a call whose connection broke, or whose response broke off, after it may have been executed.
// The backend returns only calls that are safe to repeat. If retry.inFlight is still idempotent, the call is sent
// once more, if possible on another connection. If no connection can take it now, it waits in the queue for up to
// queue.timeout, or fails if none will soon be able to. A call that is lost a second time fails, since it may break
// every connection it reaches.
func (s *state) connectionLost(now time.Time, m message.ConnectionLost, out []kernel.Effect) []kernel.Effect {
	r := s.calls.running[m.Call]
	switch {
	case r == nil: // sent before this pool restarted
		return append(out, kernel.Tell(m.Call.Holder, message.Failed{Seq: m.Call.Seq, Fault: m.Fault}))
	case r.conn.ref != m.Backend:
		return out
	}
	s.finish(m.Call, r)
	if r.cancelled {
		return s.sendQueued(now, out)
	}
	d := message.Dispatch{Call: m.Call, Request: m.Request}
	if r.broken != nil || s.server.Retry.InFlight != "idempotent" {
		return s.sendQueued(now, append(out, s.fail(d, m.Fault)))
	}
	q := queued{Dispatch: d, since: now, broken: &m}
	w := s.targetOf(m.Request)
	if w.conn == r.conn {
		w = s.targetAnywhere(m.Request)
	}
	next := s.pickUntried(w, m.Request, []*connection{r.conn})
	if next == nil {
		next = s.pickUntried(w, m.Request, nil) // perhaps only the response broke, and the same connection can take the call again
	}
	switch {
	case next != nil:
		out = s.sendTo(now, next, q, out)
	case s.canBeServed(now, w):
		out = s.enqueue(now, q, out)
	default:
		out = append(out, s.fail(d, m.Fault))
	}
	return s.sendQueued(now, out)
}

package pool

import (
	"fmt"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// callNotExecuted handles a call that a backend returned because the server did not execute it. The call is sent on
// another connection. If none can take it now, it is queued if its connection has ended or is being closed and another
// one will be available soon. Otherwise it fails. Until the call is queued, each connection is tried once; otherwise
// several unreachable ones would pass the call to each other forever. A call that the server refused for lack of a login
// goes to loginRefused. A call that was canceled meanwhile is dropped.
func (s *state) callNotExecuted(now time.Time, m message.NotExecuted, out []kernel.Effect) []kernel.Effect {
	r := s.calls.running[m.Call]
	switch {
	case r == nil: // sent before this pool restarted
		return append(out, s.fail(message.Dispatch{Call: m.Call}, s.notSentFault(m.Reason)))
	case r.conn.ref != m.Backend:
		return out
	}
	s.finish(m.Call, r)
	if m.Request.Trace != nil {
		out = append(out, kernel.Act(retried{m.Request.Trace, now, m.Reason}))
	}
	if r.cancelled {
		return s.sendQueued(now, out)
	}
	q, w := queued{Dispatch: message.Dispatch{Call: m.Call, Request: m.Request}, since: now, broken: r.broken}, s.targetOf(m.Request)
	if m.Login != nil {
		return s.sendQueued(now, s.loginRefused(now, r.conn, &q, w, m, out))
	}
	if w.conn == r.conn {
		w = s.targetAnywhere(m.Request)
	}
	tried := append(r.tried, r.conn)
	if next := s.pickUntried(w, m.Request, tried); next != nil {
		out = s.sendTo(now, next, q, out)
		s.calls.running[m.Call].tried = tried
		return s.sendQueued(now, out)
	}
	switch {
	case m.Full:
	case r.conn.leaving && s.canBeServed(now, w):
		return s.sendQueued(now, s.dispatch(now, q, out))
	case m.Lost || r.conn.phase != message.Ready:
		r.conn.lost = r.conn.phase == message.Ready
		if s.canBeServed(now, w) {
			q.deadline = r.deadline
			return s.enqueue(now, q, out)
		}
	}
	fault := s.unavailableFault(now, w)
	fault.Message += ": " + m.Reason
	if m.Full {
		fault = s.connectionFullFault()
	}
	return s.sendQueued(now, append(out, s.refuse(&q, fault)))
}

// connectionFullFault returns the fault of a call that no connection took, because each had too many calls.
func (s *state) connectionFullFault() *protocol.Fault {
	limit, hint := fmt.Sprintf("maxConcurrent: %d", s.server.MaxConcurrent), "lower"
	if s.server.MaxConcurrent == 0 {
		limit, hint = "no maxConcurrent", "set"
	}
	return &protocol.Fault{Name: protocol.QueueFull, Server: s.server.Name, Retryable: true,
		Message: fmt.Sprintf("too many calls at once for the connection to server %s (%s); the call was not sent; %s maxConcurrent so that calls wait in the queue", s.server.Name, limit, hint)}
}

// notSentFault returns the fault of a call that was not sent.
func (s *state) notSentFault(reason string) *protocol.Fault {
	return &protocol.Fault{Name: protocol.ServerUnavailable, Server: s.server.Name, Retryable: true, Message: "the call was not sent to server " + s.server.Name + ": " + reason}
}

// pickUntried returns a connection that can take the call and is not among tried. It returns nil if there is none, or
// if maxConcurrent does not allow the call now.
func (s *state) pickUntried(w target, r *message.Request, tried []*connection) *connection {
	if !s.hasRoomFor(r) {
		return nil
	}
	for _, conn := range s.replicas.connections {
		if s.canTake(conn, w, r) && !slices.Contains(tried, conn) {
			return conn
		}
	}
	return nil
}

package backend

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
)

// reachPause is the pause before an unreachable URL is tried again while calls that were delivered still run.
const reachPause = time.Second

// reach tracks whether a ready server is reachable. A frame that was not delivered affects only its own call, since
// responses to other calls may still arrive. The server is then probed. The connection is closed only when the probe is
// not delivered either and no call runs.
type reach struct {
	probe   uint32 // id of the probe while it is unknown whether it was delivered; 0 = none
	failure string // why the last probe was not delivered; "" = it was, or none was sent
}

// notSent handles a frame of which nothing reached the server, so the pool may try another connection.
func (s *state) notSent(now time.Time, e upstream.NotSent, out []kernel.Effect) []kernel.Effect {
	id := uint32(e.Ticket)
	if id == s.conn.opening.unconfirmed && s.conn.opening.unconfirmed != 0 && !isLocal(e.Err) { // without it, some servers never send messages of their own
		s.conn.opening.unconfirmed = 0
		return s.lose(now, "notifications/initialized could not be sent: "+e.Err.Error(), out)
	}
	p := s.conn.pending[id]
	if p == nil {
		return s.cancellationAccepted(id, out)
	}
	reason := e.Err.Error()
	switch {
	case s.isStream(id): // it is opened again automatically
		return s.probeReach(now, s.fail(now, id, protocol.BackendDisconnected, reason, out))
	case p.own != nil && s.closedFollows(e.Err):
		return out // the Closed event says how the process ended
	case p.own != nil && s.starting():
		s.remove(id, p)
		return s.lose(now, reason, out)
	case id == s.conn.reach.probe:
		delete(s.conn.pending, id)
		return s.unreached(now, reason, out)
	case p.query != 0:
		delete(s.conn.pending, id)
		out = append(out, s.queryFailed(p.query, reason))
	case p.own != nil:
		out = s.fail(now, id, protocol.ServerUnavailable, reason, out)
	default:
		s.remove(id, p)
		out = s.callNotSent(now, p, e.Err, out)
	}
	if !isLocal(e.Err) {
		out = s.probeReach(now, out)
	}
	return s.stopWhenDrained(now, out)
}

// isLocal reports whether a frame was not sent for a reason within the gateway, which says nothing about the server.
func isLocal(err error) bool {
	return errors.Is(err, stream.ErrOverBudget) || errors.Is(err, upstream.ErrQueueFull) ||
		errors.Is(err, upstream.ErrClosed) || errors.Is(err, context.Canceled)
}

// closedFollows reports whether a frame was not sent because the connection is ending: a process that does not accept
// one frame accepts no other. The Closed event that follows has more details than the broken pipe.
func (s *state) closedFollows(err error) bool {
	return s.link.reportsEnd && (errors.Is(err, upstream.ErrClosed) || !isLocal(err))
}

// callNotSent handles a call of which nothing reached the server. The caller must already have removed it from every
// table.
func (s *state) callNotSent(now time.Time, p *pending, err error, out []kernel.Effect) []kernel.Effect {
	switch {
	case p.round != nil && s.life.phase == message.Ready: // its client has answered and must not be asked again
		q := p.round
		s.carried.rounds[p.call] = q
		q.due = false
		return append(out, kernel.WakeAfter(reachPause, roundDue{q.call, q.number}))
	case p.round != nil:
		s.carried.rounds[p.call] = p.round
		return out
	case p.followed != nil: // the call itself was written before
		return s.failed(now, p, protocol.BackendDisconnected, err.Error(), out)
	case errors.Is(err, stream.ErrOverBudget): // another replica would not have room either
		fault := &protocol.Fault{Name: protocol.Overloaded, Server: s.server.Name, Retryable: true,
			Message: "the gateway's buffers are full (limits.maxBufferedBytes); the call was not sent; retry later"}
		return append(out, s.endedCall(p.call), kernel.Tell(p.call.Holder, message.Failed{Seq: p.call.Seq, Fault: fault}))
	case s.closedFollows(err):
		return append(out, s.notExecutedLost(p, err.Error()))
	}
	return append(out, s.notExecuted(p.call, p.request, err.Error()))
}

// probeReach sends the server a request to find out whether it is reachable. The response does not matter. If the last
// probe was not delivered and no call runs, the connection is closed instead. Links that report the end of their server
// are not probed.
func (s *state) probeReach(now time.Time, out []kernel.Effect) []kernel.Effect {
	switch {
	case s.life.phase != message.Ready || s.link.reportsEnd:
		return out
	case s.conn.reach.failure != "" && len(s.conn.byCall) == 0:
		return s.lose(now, s.conn.reach.failure, out)
	case s.conn.reach.probe != 0:
		return out
	}
	method := protocol.MethodPing
	if s.conn.era == protocol.EraModern {
		method = protocol.MethodServerDiscover
	}
	var id uint32
	out = s.expireOwn(s.request(method, nil, func(s *state, _ time.Time, _ *protocol.Frame, out []kernel.Effect) []kernel.Effect {
		if s.conn.reach.probe == id { // it is unknown whether the probe was delivered
			s.conn.reach.probe = 0
		}
		return out
	}, out))
	id = s.conn.lastID
	s.conn.reach.probe = id
	return out
}

// reached records that a frame was delivered.
func (s *state) reached(ticket uint64) {
	s.conn.reach.failure = ""
	if ticket == uint64(s.conn.reach.probe) {
		s.conn.reach.probe = 0 // the response does not matter
	}
}

// unreached handles a probe that was not delivered. No call is accepted until a frame is delivered. The connection is
// closed only when no call runs, so that no response is lost with it.
func (s *state) unreached(now time.Time, reason string, out []kernel.Effect) []kernel.Effect {
	s.conn.reach = reach{failure: reason}
	if len(s.conn.byCall) == 0 {
		return s.lose(now, reason, out)
	}
	return append(out, kernel.WakeAfter(reachPause, reachDue{s.conn.incarnation}))
}

// reachDue probes again, unless another frame was delivered meanwhile.
func (s *state) reachDue(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.conn.reach.failure == "" {
		return out
	}
	return s.probeReach(now, out)
}

// returnUnsent returns the calls that were not written before the connection ended. All others were reported as
// written, or must not be sent again.
func (s *state) returnUnsent(reason string, out []kernel.Effect) []kernel.Effect {
	for _, id := range slices.Sorted(maps.Keys(s.conn.pending)) {
		p := s.conn.pending[id]
		if p.own != nil || p.written {
			continue
		}
		s.remove(id, p)
		if p.round != nil { // its client has answered and must not be asked again
			s.carried.rounds[p.call] = p.round
			continue
		}
		out = append(s.withdrawQuestions(p, out), s.notExecutedLost(p, reason))
	}
	return out
}

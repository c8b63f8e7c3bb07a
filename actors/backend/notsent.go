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

// reachPause is the pause before an unreachable URL is tried again while calls that have reached it still run.
const reachPause = time.Second

// reach says whether a ready server can be reached. A frame that was not delivered fails only its own call, since
// the responses to others may still arrive. The server is then probed. The connection is given up only when the
// probe fails too and no call runs.
type reach struct {
	probe   uint32 // id of the probe while it is unknown whether it was delivered; 0 = none
	failure string // why the last one did not get there; "" = it did, or was not needed
}

// notSent handles a frame of which nothing reached the server, so the pool may try another connection.
func (s *state) notSent(now time.Time, e upstream.NotSent, out []kernel.Effect) []kernel.Effect {
	id := uint32(e.Ticket)
	if id == s.conn.opening.unsure && s.conn.opening.unsure != 0 && !oursAlone(e.Err) { // without it some servers never say anything by themselves
		s.conn.opening.unsure = 0
		return s.lose(now, "notifications/initialized could not be sent: "+e.Err.Error(), out)
	}
	p := s.conn.pending[id]
	if p == nil {
		return s.cancellationTaken(id, out)
	}
	reason := e.Err.Error()
	switch {
	case s.isStream(id): // it is tried again by itself
		return s.probeReach(now, s.fail(now, id, protocol.BackendDisconnected, reason, out))
	case p.own != nil && s.closedFollows(e.Err):
		return out // it knows how the process ended
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
	if !oursAlone(e.Err) {
		out = s.probeReach(now, out)
	}
	return s.stopWhenDrained(now, out)
}

// oursAlone reports whether a frame was refused for a reason that says nothing about the server.
func oursAlone(err error) bool {
	return errors.Is(err, stream.ErrOverBudget) || errors.Is(err, upstream.ErrQueueFull) ||
		errors.Is(err, upstream.ErrClosed) || errors.Is(err, context.Canceled)
}

// closedFollows reports whether a frame was refused because the connection is ending: a process that refuses one
// frame accepts no other. The Closed event tells more than the broken pipe.
func (s *state) closedFollows(err error) bool {
	return s.link.reportsEnd && (errors.Is(err, upstream.ErrClosed) || !oursAlone(err))
}

// callNotSent continues with a call that did not reach the server. It is not in any table.
func (s *state) callNotSent(now time.Time, p *pending, err error, out []kernel.Effect) []kernel.Effect {
	switch {
	case p.round != nil && s.life.phase == message.Ready: // its client has answered: that is not asked again
		q := p.round
		s.carried.rounds[p.call] = q
		q.due = false
		return append(out, kernel.WakeAfter(reachPause, roundDue{q.call, q.number}))
	case p.round != nil:
		s.carried.rounds[p.call] = p.round
		return out
	case p.followed != nil: // the call itself was written long ago
		return s.failed(now, p, protocol.BackendDisconnected, err.Error(), out)
	case errors.Is(err, stream.ErrOverBudget): // there is no more room for another replica
		fault := &protocol.Fault{Name: protocol.Overloaded, Server: s.server.Name, Retryable: true,
			Message: "the gateway's buffers are full (limits.maxBufferedBytes); nothing was sent"}
		return append(out, s.endedCall(p.call), kernel.Tell(p.call.Holder, message.Failed{Seq: p.call.Seq, Fault: fault}))
	case s.closedFollows(err):
		return append(out, s.returnedLost(p, err.Error()))
	}
	return append(out, s.returned(p.call, p.request, err.Error()))
}

// probeReach sends the server a request to find out whether it can be reached. The response does not matter. Links
// that report the end of their server are not probed.
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

// reached notes that a frame was delivered.
func (s *state) reached(ticket uint64) {
	s.conn.reach.failure = ""
	if ticket == uint64(s.conn.reach.probe) {
		s.conn.reach.probe = 0 // whether it is answered does not matter
	}
}

// unreached handles a probe that was not delivered. No call is accepted from now on; when the running ones have
// ended, nothing is lost with the connection.
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
// written.
func (s *state) returnUnsent(reason string, out []kernel.Effect) []kernel.Effect {
	for _, id := range slices.Sorted(maps.Keys(s.conn.pending)) {
		p := s.conn.pending[id]
		if p.own != nil || p.written {
			continue
		}
		s.remove(id, p)
		if p.round != nil { // its client has answered: that is not asked again
			s.carried.rounds[p.call] = p.round
			continue
		}
		out = append(out, s.returnedLost(p, reason))
	}
	return out
}

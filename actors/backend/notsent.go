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

// reachPause is how long a URL that could not be reached is left alone before it is tried again, while calls that have
// reached it still run.
const reachPause = time.Second

// reach is whether the server can be reached while it is ready. A frame that did not get there costs its own call alone: the
// answers of the others are on their way over connections that live. So the server is asked, and only when the question
// does not get there either, and nothing runs any more, the connection is given up.
type reach struct {
	probe   uint32 // id of the question while nobody knows whether it got there; 0 = none
	failure string // why the last one did not get there; "" = it did, or was not needed
}

// notSent: nothing of that frame reached the server, so the pool may try elsewhere.
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

// oursAlone reports whether a frame was refused for a reason that says nothing of the server.
func oursAlone(err error) bool {
	return errors.Is(err, stream.ErrOverBudget) || errors.Is(err, upstream.ErrQueueFull) ||
		errors.Is(err, upstream.ErrClosed) || errors.Is(err, context.Canceled)
}

// closedFollows reports whether a frame was refused because the connection is at its end: a process that does not take one
// frame takes no other. Closed tells how it ended, which says more than that a pipe broke.
func (s *state) closedFollows(err error) bool {
	return s.link.reportsEnd && (errors.Is(err, upstream.ErrClosed) || !oursAlone(err))
}

// callNotSent goes on with a call that did not reach the server. It is in no table any more.
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
			Message: "the gateway holds as many bytes as it may (limits.maxBufferedBytes); nothing was sent"}
		return append(out, s.endedCall(p.call), kernel.Tell(p.call.Holder, message.Failed{Seq: p.call.Seq, Fault: fault}))
	case s.closedFollows(err):
		return append(out, s.returnedLost(p, err.Error()))
	}
	return append(out, s.returned(p.call, p.request, err.Error()))
}

// probeReach asks the server something, to see whether that gets there. What it answers does not matter. Processes say themselves
// when they end.
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
		if s.conn.reach.probe == id { // nobody knows whether it got there
			s.conn.reach.probe = 0
		}
		return out
	}, out))
	id = s.conn.lastID
	s.conn.reach.probe = id
	return out
}

// reached: something got there.
func (s *state) reached(ticket uint64) {
	s.conn.reach.failure = ""
	if ticket == uint64(s.conn.reach.probe) {
		s.conn.reach.probe = 0 // whether it is answered does not matter
	}
}

// unreached: the question did not get there. No call is taken from now on; when those that run have ended, nothing is lost
// with the connection.
func (s *state) unreached(now time.Time, reason string, out []kernel.Effect) []kernel.Effect {
	s.conn.reach = reach{failure: reason}
	if len(s.conn.byCall) == 0 {
		return s.lose(now, reason, out)
	}
	return append(out, kernel.WakeAfter(reachPause, reachDue{s.conn.incarnation}))
}

// reachDue asks again, unless something else got there meanwhile.
func (s *state) reachDue(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.conn.reach.failure == "" {
		return out
	}
	return s.probeReach(now, out)
}

// returnUnsent gives back what was not written to a connection that has ended: it has told all that was.
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

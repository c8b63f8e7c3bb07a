package backend

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
)

// maxID is the largest id sent upstream. Some servers store ids as signed 32-bit integers.
const maxID = 1<<31 - 1

// nextID returns an id that no pending request uses. It wraps after maxID.
func (s *state) nextID() uint32 {
	for {
		s.conn.lastID++
		if s.conn.lastID > maxID {
			s.conn.lastID = initializeID + 1
		}
		if _, taken := s.conn.pending[s.conn.lastID]; !taken {
			return s.conn.lastID
		}
	}
}

// send writes a call, or returns it to the pool if the server is not ready or cannot be reached. It fails a call that
// depends on a task or a requestState that this connection does not know.
func (s *state) send(m message.Send, out []kernel.Effect) []kernel.Effect {
	switch {
	case s.life.phase != message.Ready:
		return append(out, s.notExecuted(m.Call, m.Request, "not ready: "+string(s.life.phase)))
	case s.conn.reach.failure != "":
		return append(out, s.notExecuted(m.Call, m.Request, s.conn.reach.failure))
	}
	var fault *protocol.Fault
	switch {
	case s.taskGone(m.Request):
		fault = protocol.BadParams("Unknown task: the server process that created it has ended")
	case s.hasForeignState(m.Request):
		fault = &protocol.Fault{Name: protocol.ServerUnavailable, Server: s.server.Name, Retryable: true,
			Message: "server " + s.server.Name + " no longer speaks the protocol version in which it asked for input; call again without requestState"}
	default:
		return s.write(m, out)
	}
	return append(out, s.endedCall(m.Call), kernel.Tell(m.Call.Holder, message.Failed{Seq: m.Call.Seq, Fault: fault}))
}

// hasForeignState reports whether the request carries state that a modern connection to the server issued. A legacy
// connection does not know the state and would execute the call again. Legacy servers that issue such state themselves
// (asksByResult) are an exception.
func (s *state) hasForeignState(r *message.Request) bool {
	return s.conn.era == protocol.EraLegacy && r.Modern && r.Params.RequestState.Present() && !s.life.asksByResult
}

func (s *state) write(m message.Send, out []kernel.Effect) []kernel.Effect {
	return s.writeCall(&pending{call: m.Call, request: m.Request, reached: m.Reached, before: m.Reached, taken: m.Taken}, out)
}

// writeCall assigns an id to a call and writes it.
func (s *state) writeCall(p *pending, out []kernel.Effect) []kernel.Effect {
	out = s.raiseLevel(p.request.Caller, out)
	id := s.nextID()
	p.written = false
	s.conn.pending[id] = p
	s.conn.byCall[p.call] = id
	s.letAsk(id, p)
	s.conn.asks.last = lastAsker{}
	if p.request.Trace != nil {
		out = append(out, s.trace(p.request.Trace, id))
	}
	return append(out, kernel.Act(write{s.outgoing(id, p)}))
}

// notExecuted returns to the pool a call that the server has certainly not executed.
func (s *state) notExecuted(call message.CallRef, r *message.Request, reason string) kernel.Effect {
	return kernel.Tell(s.pool, message.NotExecuted{Backend: s.self, Call: call, Request: r, Reason: reason})
}

// notExecutedLost returns a call to the pool and reports that the connection has ended. BackendChanged follows.
func (s *state) notExecutedLost(p *pending, reason string) kernel.Effect {
	return kernel.Tell(s.pool, message.NotExecuted{Backend: s.self, Call: p.call, Request: p.request, Reason: reason, Lost: true})
}

// wrote records that a request was written. From now on the server may have executed it.
func (s *state) wrote(ticket uint64, out []kernel.Effect) []kernel.Effect {
	s.reached(ticket)
	p := s.conn.pending[uint32(ticket)]
	if p == nil || p.written {
		return out
	}
	p.written = true
	if p.own != nil {
		return out
	}
	return append(out, kernel.Tell(p.call.Holder, message.RequestWritten{Seq: p.call.Seq, Taken: p.taken, Route: s.route()}))
}

// remove removes a request from the tables.
func (s *state) remove(id uint32, p *pending) {
	delete(s.conn.pending, id)
	if p.own == nil {
		delete(s.conn.byCall, p.call)
		delete(s.conn.mayAsk, id)
	}
}

// fail completes a pending request with a gateway error.
func (s *state) fail(now time.Time, id uint32, name protocol.FaultName, text string, out []kernel.Effect) []kernel.Effect {
	p := s.conn.pending[id]
	if p == nil {
		return out
	}
	out = s.declineQuestions(id, out)
	s.remove(id, p)
	if p.own != nil {
		f := ownFault(text)
		return p.own(s, now, &f, out)
	}
	return s.failed(now, p, name, text, s.dropFollowed(p, out))
}

// ended handles an HTTP response that ended without a JSON-RPC response.
func (s *state) ended(now time.Time, e upstream.Ended, out []kernel.Effect) []kernel.Effect {
	id := uint32(e.Ticket)
	switch greeted := s.conn.opening.accepted(id); {
	case greeted && s.life.phase == message.Syncing:
		return s.advanceOpening(now, out)
	case s.conn.pending[id] == nil:
		return s.cancellationAccepted(id, out) // a notification, or a call that was canceled
	}
	if refused, is := errors.AsType[*upstream.LoginError](e.Err); is {
		s.life.noLogin = errors.Is(e.Err, upstream.ErrNoLogin)
		return s.loginRefused(now, id, refused.Status == 403, loginReason(e.Err), out)
	}
	switch {
	case s.life.phase == message.Handshaking:
		return s.openingEnded(now, id, e.Err, out)
	case errors.Is(e.Err, stream.ErrFrameTooLarge):
		return s.fail(now, id, protocol.MessageTooLarge, s.noAnswer(e.Err), out)
	}
	if status, ok := errors.AsType[*upstream.StatusError](e.Err); ok {
		return s.endedWith(now, id, status, s.noAnswer(e.Err), out)
	}
	out, done := s.awaitTaskAgain(id, out)
	if done {
		return out
	}
	if p := s.conn.pending[id]; s.life.phase == message.Ready && s.mayRepeat(p) {
		return append(out, s.lost(id, p, s.noAnswer(e.Err)))
	}
	return s.fail(now, id, protocol.BackendDisconnected, s.noAnswer(e.Err), out)
}

// endedWith handles a response with an HTTP error status and without a JSON-RPC message; text describes it.
func (s *state) endedWith(now time.Time, id uint32, status *upstream.StatusError, text string, out []kernel.Effect) []kernel.Effect {
	p := s.conn.pending[id]
	switch {
	case s.unknownMethod(id, status.Code):
		return s.fail(now, id, protocol.MethodNotFound, "Method not found: "+p.request.Frame.MethodText(), out)
	case s.mayHaveLeftEra(status.Code) && id == s.conn.rechecking:
		return s.eraChanged(now, out)
	case s.mayHaveLeftEra(status.Code):
		out = s.recheck(out)
	}
	switch {
	case status.Refused() && p.followed == nil && p.round == nil: // otherwise the server has begun to execute the call
		return s.refused(now, id, status, text, out)
	case status.Code == 401:
		return s.fail(now, id, protocol.NeedsLogin, text, out)
	}
	return s.fail(now, id, protocol.BackendDisconnected, text, out)
}

// unknownMethod reports whether an HTTP status means that the server does not know the pending call's method. It only
// applies to methods that no version of the protocol defines. go-sdk servers with sessions answer these with plain text.
func (s *state) unknownMethod(id uint32, status int) bool {
	p := s.conn.pending[id]
	return p.own == nil && p.request.Frame.Method == protocol.MethodOther && (status == 400 || status == 404 || status == 405)
}

// sessionLost handles an HTTP server that has lost the session. The request that it refused was not executed and is
// sent again, once: a server that refuses it again is broken. All other calls fail, or return to the pool if they may
// be repeated (mayRepeat).
func (s *state) sessionLost(now time.Time, e upstream.SessionLost, out []kernel.Effect) []kernel.Effect {
	id := uint32(e.Ticket)
	if p := s.conn.pending[id]; p != nil && p.own == nil {
		if p.resent || p.followed != nil {
			p.written = true // it is not sent again
			return s.lose(now, "the server lost its session, and the request cannot be sent again", out)
		}
		s.carried.unexecuted = append(s.carried.unexecuted, message.Send{Call: p.call, Request: p.request, Taken: p.taken})
		out = s.withdrawQuestions(p, out)
		s.remove(id, p)
	}
	if s.life.phase != message.Ready {
		return s.lose(now, "the server refused the session that it had just started", out)
	}
	held := s.carried.unexecuted
	s.carried.unexecuted = nil
	lost := s.takeRepeatable("the server lost its session")
	out = s.abandonPending(protocol.BackendDisconnected, "the server lost its session", out)
	s.carried.unexecuted = held
	out = append(out, kernel.Log(slog.LevelInfo, "server lost its session; initializing again"))
	return append(s.connect(now, s.shut(out)), lost...)
}

// abandonPending fails every pending call and every query of the pool, even if it is not marked as written: over HTTP,
// bytes are sent before the link reports it. Pending calls that may be sent again must be removed first (returnUnsent,
// takeRepeatable). Calls that the server has refused without executing them return to the pool.
func (s *state) abandonPending(name protocol.FaultName, reason string, out []kernel.Effect) []kernel.Effect {
	for _, id := range slices.Sorted(maps.Keys(s.conn.pending)) {
		p := s.conn.pending[id]
		s.remove(id, p)
		if p.own != nil {
			if p.query != 0 {
				out = append(out, s.queryFailed(p.query, reason))
			}
			continue
		}
		fault := s.fault(p, name, fmt.Sprintf("server %s was lost during the call: %s", s.server.Name, reason))
		out = append(out, kernel.Tell(p.call.Holder, message.Failed{Seq: p.call.Seq, Fault: fault}),
			kernel.Tell(s.pool, message.CallEnded{Backend: s.self, Call: p.call}))
	}
	for _, h := range s.carried.unexecuted {
		out = append(out, s.notExecuted(h.Call, h.Request, reason))
	}
	s.carried.unexecuted = nil
	for _, p := range s.conn.headerRetries { // the server refused them without executing them
		if p.round != nil {
			s.carried.rounds[p.call] = p.round
			continue
		}
		out = append(out, s.notExecuted(p.call, p.request, reason))
	}
	s.conn.headerRetries = nil
	for _, q := range s.carried.rounds {
		if q.poll != nil && q.poll.inFlight { // the task is polled again on the next connection
			q.poll.inFlight, q.due = false, true
		}
	}
	maps.DeleteFunc(s.questions.open, func(_ uint64, a *question) bool { return a.round == nil })
	return s.abandonStreams(reason, out)
}

// queryFailed answers a query of the pool that got no response.
func (s *state) queryFailed(key uint64, reason string) kernel.Effect {
	return kernel.Tell(s.pool, message.QueryResult{Backend: s.self, Key: key, Fault: &protocol.Fault{
		Name: protocol.ServerUnavailable, Server: s.server.Name, Retryable: true, Message: "server " + s.server.Name + " was lost: " + reason}})
}

// reply sends the server a frame with the response to one of its requests.
func (s *state) reply(frame []byte, out []kernel.Effect) []kernel.Effect {
	return append(out, kernel.Act(write{upstream.Outgoing{Ticket: uint64(s.nextID()), Frame: frame}}))
}

// notify writes a notification of the gateway.
func (s *state) notify(m protocol.Method, params []byte, out []kernel.Effect) []kernel.Effect {
	frame := protocol.AppendNotification(nil, m.String(), params)
	return append(out, kernel.Act(write{upstream.Outgoing{Ticket: uint64(s.nextID()), Frame: frame, Method: m.String()}}))
}

// parseID parses an id or token that the gateway issued: digits, or digits in quotes from servers that store ids
// as text.
func parseID(raw []byte) (uint32, bool) {
	if len(raw) > 2 && raw[0] == '"' && raw[len(raw)-1] == '"' {
		raw = raw[1 : len(raw)-1]
	}
	if len(raw) == 0 || len(raw) > 10 {
		return 0, false
	}
	var n uint64
	for _, c := range raw {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return uint32(n), n <= maxID
}

package backend

import (
	"log/slog"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// received handles one frame from the server.
func (s *state) received(now time.Time, e *upstream.Received, out []kernel.Effect) []kernel.Effect {
	switch e.Frame.Kind {
	case protocol.KindResult, protocol.KindError:
		return s.answered(now, e, out)
	case protocol.KindNotification:
		return s.notified(now, e, out)
	case protocol.KindRequest:
		if s.conn.era == protocol.EraModern { // it must not send requests, and clients must not answer them (MCP 2026-07-28, basic/transports/stdio, sending messages)
			return append(out, kernel.Log(slog.LevelWarn, "server sent a request, which its protocol version forbids; it is not answered", "method", e.Frame.MethodText()))
		}
		return s.serverAsked(now, e, out)
	}
	return out
}

// answered delivers a response to its request. Over HTTP, it must answer the request of the same exchange.
func (s *state) answered(now time.Time, e *upstream.Received, out []kernel.Effect) []kernel.Effect {
	id, ok := parseID(e.Frame.ID.Of(e.Frame.Raw))
	if e.Ticket != 0 && (!ok || uint64(id) != e.Ticket) && e.Last {
		return s.wrongID(now, e, out)
	}
	p := s.conn.pending[id]
	if !ok || p == nil {
		delete(s.conn.cancelled, id)
		return s.orphaned(id, &e.Frame, s.strayAnswer(e.Frame.ID.Of(e.Frame.Raw), ok && id <= s.conn.lastID, out))
	}
	s.dropQuestions(id)
	if e.Frame.Kind == protocol.KindError {
		return s.checkEra(now, e, s.deliver(now, id, p, e, out))
	}
	return s.deliver(now, id, p, e, out)
}

// deliver hands a response to the owner of its request.
func (s *state) deliver(now time.Time, id uint32, p *pending, e *upstream.Received, out []kernel.Effect) []kernel.Effect {
	if p.own != nil {
		return s.answeredOwn(now, id, p, e, out)
	}
	s.remove(id, p)
	f, out, done := s.answeredTask(now, id, p, &e.Frame, out)
	if done {
		return out
	}
	out = s.mention(p, f, out)
	switch {
	case f.Kind == protocol.KindError && !protocol.IsError(f): // invalid, so many clients would ignore it and keep waiting
		return s.badAnswer(now, p, "the server answered with an invalid error: "+errorText(f), out)
	case s.conn.era == protocol.EraModern:
		return s.answeredModern(now, p, f, out)
	}
	return s.answeredLegacy(now, id, p, f, out)
}

// answeredTask handles a response that is about a followed task or creates one. If the result done is true, the response is
// not for the client; otherwise the returned frame is.
func (s *state) answeredTask(now time.Time, id uint32, p *pending, f *protocol.Frame, out []kernel.Effect) (_ *protocol.Frame, _ []kernel.Effect, done bool) {
	switch {
	case p.followed != nil:
		return s.taskAnswered(p, f, out)
	case p.request.Follow && s.conn.era == protocol.EraLegacy && f.Kind == protocol.KindResult:
		out, done = s.followLegacy(now, id, p, f, out)
	}
	return f, out, done
}

// answeredLegacy handles a legacy server's response to a call.
func (s *state) answeredLegacy(now time.Time, id uint32, p *pending, f *protocol.Frame, out []kernel.Effect) []kernel.Effect {
	switch {
	case p.request.Modern && f.Kind == protocol.KindError:
		return s.refusedForModern(now, p, f, out)
	case p.request.Modern:
		edits := markInputRequired(p.request.Frame.Method, f)
		s.life.asksByResult = s.life.asksByResult || len(edits) > 0
		return s.doneEdited(now, p, f, edits, out)
	case p.request.AsTask && f.Kind == protocol.KindResult:
		return s.taskCreated(now, id, p, f, out)
	case f.Kind == protocol.KindError:
		s.rememberURLs(f, p)
	}
	return s.done(now, p, *f, out)
}

// answeredOwn handles the response to a request of the gateway. During the handshake, some HTTP statuses take
// precedence over an error response.
func (s *state) answeredOwn(now time.Time, id uint32, p *pending, e *upstream.Received, out []kernel.Effect) []kernel.Effect {
	if s.life.phase == message.Handshaking && e.Frame.Kind == protocol.KindError {
		var done bool
		if out, done = s.refusedInAnyEra(now, &upstream.StatusError{Code: e.Status}, errorText(&e.Frame), out); done {
			return out
		}
	}
	delete(s.conn.pending, id)
	if id == s.conn.probe.initialize {
		s.conn.probe.session = e.Session
	}
	if id == s.conn.rechecking {
		return s.rechecked(now, &e.Frame, e.Status, out)
	}
	return p.own(s, now, &e.Frame, out)
}

// wrongID fails a call whose HTTP response carried the id of another request. Two kinds of responses, which legacy servers
// send, belong to the call nevertheless: an error without an id, and an error with an HTTP error status. For the latter,
// servers with the Python SDK use the id "server-error".
func (s *state) wrongID(now time.Time, e *upstream.Received, out []kernel.Effect) []kernel.Effect {
	p := s.conn.pending[uint32(e.Ticket)]
	if p == nil {
		return out
	}
	raw := e.Frame.ID.Of(e.Frame.Raw)
	if e.Frame.Kind == protocol.KindError && (raw == nil || string(raw) == "null" || e.Status >= 400) {
		if p.own != nil {
			return s.answeredOwn(now, uint32(e.Ticket), p, e, out)
		}
		s.remove(uint32(e.Ticket), p)
		out = s.failed(now, p, protocol.InternalFault, "the server refused the request: "+errorText(&e.Frame), out)
		if s.mayHaveLeftEra(e.Status) {
			out = s.recheck(out)
		}
		return s.checkEra(now, e, out)
	}
	out = append(out, kernel.Log(slog.LevelWarn, "server answered with the id of another request", p.sampled().LogArgs("got", string(raw), "want", e.Ticket)...))
	return s.recheck(s.fail(now, uint32(e.Ticket), protocol.InternalFault, "server "+s.server.Name+" answered with the id of another request", out))
}

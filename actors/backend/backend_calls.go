package backend

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/transport"
)

// maxID is the largest id sent upstream: some servers keep ids in 32 signed bits.
const maxID = 1<<31 - 1

// nextID returns an id no pending request has.
func (s *state) nextID() uint32 {
	for {
		s.lastID++
		if s.lastID > maxID {
			s.lastID = initializeID + 1
		}
		if _, taken := s.pending[s.lastID]; !taken {
			return s.lastID
		}
	}
}

// send writes a call, or returns it when this backend cannot take it.
func (s *state) send(m message.Send, out []effect) []effect {
	if s.phase != message.Ready {
		return append(out, s.returned(m.Call, m.Request, "not ready: "+string(s.phase)))
	}
	return s.write(m, out)
}

func (s *state) write(m message.Send, out []effect) []effect {
	id := s.nextID()
	s.pending[id] = &pending{call: m.Call, request: m.Request}
	s.byCall[m.Call] = id
	return append(out, act(write{transport.Outgoing{
		Ticket: uint64(id), Frame: upstream(m.Request, id), Newline: m.Request.Frame.Newline, Request: true,
		Method: m.Request.Frame.M.String(), Name: m.Request.Item,
	}}))
}

// upstream is the client's frame with our id, the server's own name or URI, and our progress token; every other
// byte as it came. Tools are always asked for progress: it keeps long calls alive (the idle clock).
func upstream(r *message.Request, id uint32) []byte {
	raw := r.Frame.Raw
	number := strconv.AppendUint(nil, uint64(id), 10)
	edits := make([]protocol.Edit, 1, 3)
	edits[0] = protocol.Edit{Span: r.Frame.ID, With: number}
	if r.Target.Present() {
		edits = append(edits, protocol.Edit{Span: r.Target, With: r.Original})
	}
	switch {
	case r.Params.ProgressToken.Present():
		edits = append(edits, protocol.Edit{Span: r.Params.ProgressToken, With: number})
	case r.Frame.M != protocol.MethodToolsCall:
	case r.Params.Meta.Present():
		edits = append(edits, protocol.InsertMember(raw, r.Params.Meta, append([]byte(`"progressToken":`), number...)))
	default:
		member := append([]byte(`"_meta":{"progressToken":`), number...)
		edits = append(edits, protocol.InsertMember(raw, r.Frame.Params, append(member, '}')))
	}
	return protocol.AppendEdited(nil, raw, edits...)
}

func (s *state) returned(call message.CallRef, r *message.Request, reason string) effect {
	return tell(s.pool, message.Returned{Backend: s.self, Call: call, Request: r, Reason: reason})
}

// wrote: from now on the request may have been executed, so it is never given to another backend.
func (s *state) wrote(ticket uint64, out []effect) []effect {
	p := s.pending[uint32(ticket)]
	if p == nil || p.written {
		return out
	}
	p.written = true
	if p.own != nil {
		return out
	}
	return append(out, tell(p.call.Holder, message.Written{Seq: p.call.Seq}))
}

// forget takes a call out of the tables and tells the pool that its slot is free.
func (s *state) forget(id uint32, p *pending, out []effect) []effect {
	delete(s.pending, id)
	if p.own != nil {
		return out
	}
	delete(s.byCall, p.call)
	return append(out, tell(s.pool, message.Ended{Backend: s.self, Call: p.call}))
}

// received handles one frame of the server.
func (s *state) received(now time.Time, e *transport.Received, out []effect) []effect {
	switch e.Frame.Kind {
	case protocol.KindResult, protocol.KindError:
		return s.answered(now, e, out)
	case protocol.KindNotification:
		return s.notified(e, out)
	case protocol.KindRequest:
		return s.asked(e, out)
	}
	return out
}

// answered passes the server's answer to who waits for it. On HTTP the answer must be the one of the exchange it came on.
func (s *state) answered(now time.Time, e *transport.Received, out []effect) []effect {
	id, ok := parseID(e.Frame.ID.Of(e.Frame.Raw))
	if e.Ticket != 0 && (!ok || uint64(id) != e.Ticket) && e.Last {
		return s.wrongID(now, e, out)
	}
	p := s.pending[id]
	if !ok || p == nil {
		return s.strayAnswer(e.Frame.ID.Of(e.Frame.Raw), ok && id <= s.lastID, out)
	}
	s.dropAsks(id)
	out = s.forget(id, p, out)
	if p.own != nil {
		return p.own(s, now, &e.Frame, out)
	}
	out = append(out, tell(p.call.Holder, message.Done{Seq: p.call.Seq, Frame: e.Frame}))
	return s.stopWhenDrained(now, out)
}

// wrongID fails the call whose HTTP response carried somebody else's answer. An error without id is its own.
func (s *state) wrongID(now time.Time, e *transport.Received, out []effect) []effect {
	p := s.pending[uint32(e.Ticket)]
	if p == nil {
		return out
	}
	raw := e.Frame.ID.Of(e.Frame.Raw)
	if e.Frame.Kind == protocol.KindError && (raw == nil || string(raw) == "null") {
		out = s.forget(uint32(e.Ticket), p, out)
		if p.own != nil {
			return p.own(s, now, &e.Frame, out)
		}
		fault := &protocol.Fault{Name: protocol.InternalFault, Server: s.server.Name,
			Message: "the server refused the request: " + errorText(&e.Frame)}
		return append(out, tell(p.call.Holder, message.Failed{Seq: p.call.Seq, Fault: fault}))
	}
	out = append(out, act(logged{slog.LevelWarn, "server answered with a wrong id", []any{"got", string(raw), "want", e.Ticket}}))
	return s.fail(now, uint32(e.Ticket), protocol.InternalFault, "the server answered with a wrong id", out)
}

// fail ends one pending request with a fault of ours.
func (s *state) fail(now time.Time, id uint32, name protocol.FaultName, text string, out []effect) []effect {
	p := s.pending[id]
	if p == nil {
		return out
	}
	out = s.refuseAsks(id, out)
	out = s.forget(id, p, out)
	if p.own != nil {
		f := ownFault(text)
		return p.own(s, now, &f, out)
	}
	fault := &protocol.Fault{Name: name, Server: s.server.Name, Message: text}
	out = append(out, tell(p.call.Holder, message.Failed{Seq: p.call.Seq, Fault: fault}))
	return s.stopWhenDrained(now, out)
}

// notSent: nothing reached the server, so the pool may try elsewhere. A URL that cannot be reached is a lost connection.
func (s *state) notSent(now time.Time, e transport.NotSent, out []effect) []effect {
	id := uint32(e.Ticket)
	p := s.pending[id]
	if p == nil {
		return out
	}
	if p.own != nil {
		delete(s.pending, id)
		return s.lose(now, e.Err.Error(), out)
	}
	request := p.request
	delete(s.pending, id)
	delete(s.byCall, p.call)
	out = append(out, s.returned(p.call, request, e.Err.Error()))
	if s.kind != "stdio" && s.phase == message.Ready {
		return s.lose(now, e.Err.Error(), out)
	}
	return s.stopWhenDrained(now, out)
}

// ended: the HTTP response was over before an answer.
func (s *state) ended(now time.Time, e transport.Ended, out []effect) []effect {
	if s.greeting != 0 && e.Ticket == uint64(s.greeting) && s.phase == message.Syncing {
		return s.settle(now, out)
	}
	if s.pending[uint32(e.Ticket)] == nil {
		return out // a notification, or a call that was withdrawn
	}
	text, name := "the response ended without an answer", protocol.BackendDisconnected
	if e.Err != nil {
		text = e.Err.Error()
	}
	if errors.Is(e.Err, transport.ErrFrameTooLarge) {
		name = protocol.MessageTooLarge
	}
	return s.fail(now, uint32(e.Ticket), name, text, out)
}

// withdraw cancels a call: its slot is free at once, a late answer is ignored (protocol.md E.4 no. 28d).
func (s *state) withdraw(now time.Time, m message.Withdraw, out []effect) []effect {
	for i, h := range s.held {
		if h.Call == m.Call {
			s.held = append(s.held[:i], s.held[i+1:]...)
			return append(out, tell(s.pool, message.Ended{Backend: s.self, Call: m.Call}))
		}
	}
	id, ok := s.byCall[m.Call]
	if !ok {
		return out
	}
	out = s.refuseAsks(id, out)
	out = s.forget(id, s.pending[id], out)
	params := append([]byte(`{"requestId":`), strconv.AppendUint(nil, uint64(id), 10)...)
	if m.Reason != "" {
		params = append(append(params, `,"reason":`...), protocol.Quote(m.Reason)...)
	}
	out = s.notify(protocol.NotificationCancelled, append(params, '}'), out)
	out = append(out, act(giveUp{uint64(id)}))
	return s.stopWhenDrained(now, out)
}

// sessionLost: an HTTP server has forgotten us. The request it says so for was not executed and is kept; the rest is lost.
func (s *state) sessionLost(now time.Time, e transport.SessionLost, out []effect) []effect {
	id := uint32(e.Ticket)
	if p := s.pending[id]; p != nil && p.own == nil {
		s.held = append(s.held, message.Send{Call: p.call, Request: p.request})
		delete(s.pending, id)
		delete(s.byCall, p.call)
	}
	if s.phase != message.Ready {
		return s.lose(now, "the server refuses the session it has just begun", out)
	}
	held := s.held
	s.held = nil
	out = s.abandonPending(protocol.BackendDisconnected, "the server lost its session", out)
	s.held = held
	out = append(out, act(logged{slog.LevelInfo, "server lost the session; initializing again", nil}))
	return s.connect(now, s.shut(out))
}

// abandonPending answers everything that waits: what was written has failed, what was not goes back to the pool.
func (s *state) abandonPending(name protocol.FaultName, reason string, out []effect) []effect {
	for _, id := range slices.Sorted(maps.Keys(s.pending)) {
		p := s.pending[id]
		delete(s.pending, id)
		if p.own != nil {
			if p.query != 0 {
				out = append(out, tell(s.pool, message.Queried{Backend: s.self, Key: p.query, Fault: &protocol.Fault{
					Name: protocol.ServerUnavailable, Server: s.server.Name, Retryable: true, Message: "server " + s.server.Name + " was lost: " + reason}}))
			}
			continue
		}
		delete(s.byCall, p.call)
		if !p.written {
			out = append(out, s.returned(p.call, p.request, reason))
			continue
		}
		fault := &protocol.Fault{Name: name, Server: s.server.Name,
			Message: fmt.Sprintf("server %s was lost while it worked on the call: %s", s.server.Name, reason)}
		out = append(out, tell(p.call.Holder, message.Failed{Seq: p.call.Seq, Fault: fault}),
			tell(s.pool, message.Ended{Backend: s.self, Call: p.call}))
	}
	for _, h := range s.held {
		out = append(out, s.returned(h.Call, h.Request, reason))
	}
	s.held = nil
	clear(s.asks)
	return out
}

// reply writes an answer of ours.
func (s *state) reply(frame []byte, out []effect) []effect {
	return append(out, act(write{transport.Outgoing{Ticket: uint64(s.nextID()), Frame: frame}}))
}

// notify writes a notification of ours.
func (s *state) notify(m protocol.Method, params []byte, out []effect) []effect {
	frame := protocol.AppendNotification(nil, m.String(), params)
	return append(out, act(write{transport.Outgoing{Ticket: uint64(s.nextID()), Frame: frame, Method: m.String()}}))
}

// notified handles a notification of the server.
func (s *state) notified(e *transport.Received, out []effect) []effect {
	switch e.Frame.M {
	case protocol.NotificationProgress:
		return s.progress(e, out)
	case protocol.NotificationMessage:
		return s.logLine(e, out)
	case protocol.NotificationResourcesUpdated:
		return s.resourceUpdated(e, out)
	case protocol.NotificationCancelled:
		return s.askWithdrawn(e, out)
	case protocol.NotificationElicitationComplete:
		return s.elicitationDone(e, out)
	case protocol.NotificationToolsListChanged:
		return s.changed(protocol.Tools, out)
	case protocol.NotificationPromptsListChanged:
		return s.changed(protocol.Prompts, out)
	case protocol.NotificationResourcesListChanged:
		return s.changed(protocol.Templates, s.changed(protocol.Resources, out))
	}
	return out
}

// logLine goes to the call it belongs to: the one whose response it came on, else the only one there is. What
// belongs to no call is told to the pool.
func (s *state) logLine(e *transport.Received, out []effect) []effect {
	p := s.pending[uint32(e.Ticket)]
	if e.Ticket == 0 && len(s.byCall) == 1 {
		for _, id := range s.byCall {
			p = s.pending[id]
		}
	}
	if p != nil && p.own == nil {
		return append(out, tell(p.call.Holder, message.Log{Seq: p.call.Seq, Frame: e.Frame}))
	}
	return append(out, tell(s.pool, message.ServerLog{Server: s.server.Name, Frame: e.Frame}))
}

// resourceUpdated goes to the pool, who knows the subscribers.
func (s *state) resourceUpdated(e *transport.Received, out []effect) []effect {
	var params protocol.Params
	if params.Scan(&e.Frame) != nil {
		return out
	}
	uri, ok := protocol.Unquote(params.URI.Of(e.Frame.Raw))
	if !ok {
		return out
	}
	return append(out, tell(s.pool, message.Updated{URI: uri, Frame: e.Frame, Span: params.URI}))
}

// progress goes to the call whose token, our id, it carries.
func (s *state) progress(e *transport.Received, out []effect) []effect {
	var params protocol.Params
	if params.Scan(&e.Frame) != nil {
		return out
	}
	id, ok := parseID(params.Token.Of(e.Frame.Raw))
	p := s.pending[id]
	if !ok || p == nil || p.own != nil {
		return out
	}
	return append(out, tell(p.call.Holder, message.Progress{Seq: p.call.Seq, Frame: e.Frame, Token: params.Token}))
}

// parseID reads an id or token of ours: digits, as a number or, from servers that keep ids as text, in quotes.
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

package session

import (
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/call"
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/clientcalls"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/audit"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// dispatch looks the item up and hands the call to the pool of its server.
func (s *state) dispatch(now time.Time, x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	x, t, fault := admission.Aim(s.view, x)
	if !s.seekers.Again {
		out = admission.CountDenied(t.Denied, s.who, s.key, out)
	}
	if fault != nil || t.Unlisted {
		if out, done := s.seek(x, fault, t.Denied, out); done {
			return out
		}
	}
	return s.call(now, x, t, out)
}

// seek has lists fetched anew that may hold what the request names, or refuses it. It reports whether that is all to be done now.
func (s *state) seek(x *downstream.Exchange, fault *protocol.Fault, denied *admission.Denied, out []kernel.Effect) ([]kernel.Effect, bool) {
	out, fault, waits := s.seekers.Seek(x, s.view, x, fault, s.self, &s.seq, out)
	if fault != nil {
		return s.refusedItem(x, fault, denied, out), true
	}
	return out, waits
}

// seekAgain answers a request by what is listed now.
func (s *state) seekAgain(now time.Time, x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	s.seekers.Again = true
	defer func() { s.seekers.Again = false }()
	return s.request(now, x, out)
}

// call hands a request to the pool of the target's server.
func (s *state) call(now time.Time, x *downstream.Exchange, t admission.Target, out []kernel.Effect) []kernel.Effect {
	id := x.Frame.IDBytes()
	if _, taken := s.byID[string(id)]; taken {
		return append(out, kernel.Act(refuse{x, 400, &protocol.Fault{Name: protocol.InvalidRequest, Message: "id " + status.Printable(string(id), 100) + " is in use by a call in flight"}}))
	}
	if s.limits.MaxInFlightPerClient > 0 && len(s.calls) >= s.limits.MaxInFlightPerClient {
		return s.refused(x, &protocol.Fault{Name: protocol.Overloaded, Retryable: true, Message: "too many calls in flight for this client (limits.maxInFlightPerClient)"}, out)
	}
	if fault := clientcalls.Unaudited(s.audit); fault != nil {
		return s.refused(x, fault, out)
	}
	r, fault := t.Request(x, s.caller())
	if fault != nil {
		return s.refused(x, fault, out)
	}
	s.seq++
	h := &heldCall{x: x, view: s.view, server: t.Server, Call: t.Call(s.seq, x, now, s.limits.ParkedCall)}
	h.Token = x.Params.ProgressToken.Of(x.Frame.Raw)
	s.prepareTask(r, t)
	s.noteTenant(r.Tenant, r.Server, t.Server.Pool)
	h.Client, h.asTask, h.Limits.Patient = s.client, r.AsTask, r.Waits()
	put(&s.calls, s.seq, h)
	put(&s.byID, string(id), s.seq)
	h.record = clientcalls.RecordOf(s.audit, x, &h.Call, s.key.Project, t.Denied)
	if h.record != nil && s.audit.Has(audit.Both) {
		out = clientcalls.AuditBegin(h.record, s.shown(h.Seq), out)
	}
	out = s.clock.By(now, h.Deadline(), out)
	return append(out, kernel.Tell(t.Server.Pool, message.Dispatch{Call: s.ref(s.seq), Request: r}))
}

// caller is who asks, for all requests until something of it changes.
func (s *state) caller() *message.Caller {
	if s.asks == nil {
		s.asks = &message.Caller{Principal: message.PrincipalOf(s.who), Epoch: s.epoch, ClientKey: s.id, View: s.key, Version: s.version, Capabilities: s.capabilities, ClientInfo: s.clientInfo, Can: s.can, Extras: s.extras}
	}
	return s.asks
}

func (s *state) ref(seq uint64) message.CallRef { return message.CallRef{Holder: s.self, Seq: seq} }

// event applies an event to a call; what comes for a call that has ended is dropped.
func (s *state) event(now time.Time, seq uint64, event any, out []kernel.Effect) []kernel.Effect {
	h := s.calls[seq]
	if h == nil {
		return out
	}
	s.scratch = h.Step(now, event, s.scratch[:0])
	if h.State == call.Ended { // before its exchange ends, which the client may hear of its questions on
		out = s.cancelQuestions(seq, out)
	}
	for i := range s.scratch {
		out = s.effect(now, h, &s.scratch[i], out)
	}
	clear(s.scratch) // no frame outlives its delivery here
	if h.State == call.Ended {
		delete(s.calls, seq)
		if h.listing == nil { // whose looks share the id of a request that is not in the table
			delete(s.byID, string(h.ID))
		}
		return s.leaveWhenDrained(out)
	}
	if _, sent := event.(call.Sent); sent {
		return s.clock.By(now, h.Deadline(), out)
	}
	return out
}

// effect carries out what a call's step wants done. An answer is counted before its client has it, who may look at once.
func (s *state) effect(now time.Time, h *heldCall, e *call.Effect, out []kernel.Effect) []kernel.Effect {
	s.taskGone(h, e)
	if h.listing != nil {
		return s.taskAnswered(h, e, out)
	}
	first := len(out)
	switch e.Kind {
	case call.Deliver:
		frame, edits := &e.Frame, make([]protocol.Edit, 1, 2)
		edits[0] = protocol.Edit{Span: frame.ID, With: h.ID}
		if frame.Kind == protocol.KindResult {
			edits = append(edits, catalog.RewriteResultFor(h.view, h.server, s.version, h.resultOf(), frame)...)
			edits = admission.ReadAsTool(h.taskEdits(edits, frame), h.x, frame)
		}
		out = append(clientcalls.ReadRefused(&h.Call, frame, out), clientcalls.CountAnswered(now, &h.Call, frame))
		return s.noted(h, nil, first, append(out, reply.AnswerEdited(h.x, frame, edits, frame.Memory)))
	case call.Fail:
		e.Fault = clientcalls.NamingTool(e.Fault, &h.Call)
		return s.noted(h, e.Fault, first, s.fault(h.x, e.Fault, append(out, clientcalls.CountUnanswered(now, &h.Call, clientcalls.OutcomeOf(e.Fault)))))
	case call.Cancel:
		return append(out, kernel.Tell(h.server.Pool, message.Cancel{Call: s.ref(h.Seq), Reason: e.Reason, TimedOut: e.TimedOut}))
	case call.Forget:
		out = append(out, clientcalls.CountUnanswered(now, &h.Call, status.OutcomeCancelled))
		return s.noted(h, nil, first, s.withdrawn(h.x, &protocol.Fault{Name: protocol.Cancelled, Server: h.Server}, out))
	}
	return out
}

// progress goes to the client with its own token in it.
func (s *state) progress(now time.Time, m message.Progress, out []kernel.Effect) []kernel.Effect {
	h := s.calls[m.Seq]
	if h == nil {
		return out
	}
	for _, e := range h.Step(now, call.Heard{Frame: m.Frame, Behind: m.Behind}, s.scratch[:0]) {
		frame := protocol.AppendEdited(nil, e.Frame.Raw, protocol.Edit{Span: m.Token, With: h.Token})
		out = append(out, kernel.Act(reply.Ahead{X: h.x, Frame: frame, Newline: e.Frame.Newline, Weight: downstream.WeightProgress, Key: "progress"}))
	}
	return out
}

// log passes a call's log line on, unless the client wants only graver ones.
func (s *state) log(now time.Time, m message.Log, out []kernel.Effect) []kernel.Effect {
	h := s.calls[m.Seq]
	if h == nil {
		return out
	}
	if !s.wantsLog(&m.Frame) {
		return out
	}
	for _, e := range h.Step(now, call.Logged{Frame: m.Frame}, s.scratch[:0]) {
		out = append(out, kernel.Act(reply.Ahead{X: h.x, Frame: e.Frame.Raw, Newline: e.Frame.Newline, Weight: downstream.WeightLog, Key: ""}))
	}
	return out
}

// wantsLog reports whether a log line is at least as grave as the client wants.
func (s *state) wantsLog(f *protocol.Frame) bool {
	if s.level == protocol.LevelNone || s.level == protocol.LevelDebug {
		return true
	}
	var params protocol.Params
	if params.Scan(f) != nil {
		return false
	}
	line := protocol.LevelOf(params.Level.Of(f.Raw))
	return line == protocol.LevelNone || s.level.Admits(line)
}

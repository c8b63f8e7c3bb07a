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
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// heldCall is a call of the client, or the gateway's query about a task for a tasks/list.
type heldCall struct {
	clientcalls.Held
	x       *downstream.Exchange
	asTask  bool         // a tools/call that the client wants run as a task
	listing *taskListing // the tasks/list for which the gateway queries a task; nil = the client's own call
	row     int          // in listing.rows
}

// dispatch looks up the item and sends the call to the pool of its server.
func (s *state) dispatch(now time.Time, x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	x, t, fault := admission.FindTarget(s.catalog.view, x)
	if !s.calls.Retrying() {
		out = admission.CountDenied(t.Denied, s.principal.who, s.catalog.key, out)
	}
	if fault != nil || t.Unlisted {
		if out, done := s.lookup(x, fault, t.Denied, out); done {
			return out
		}
	}
	return s.call(now, x, t, out)
}

// lookup decides about an item that is not listed: it refreshes the lists that may contain it, or refuses the request. It reports
// whether there is nothing more to do now.
func (s *state) lookup(x *downstream.Exchange, fault *protocol.Fault, denied *admission.Denied, out []kernel.Effect) ([]kernel.Effect, bool) {
	out, fault, waits := s.calls.Lookup(x, s.catalog.view, x, fault, out)
	if fault != nil {
		return s.refuseItem(x, fault, denied, out), true
	}
	return out, waits
}

// Repeat handles a request again after the lists it waited for were refreshed.
func (s *state) Repeat(now time.Time, x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	return s.request(now, x, out)
}

// call sends a request to the pool of the target's server.
func (s *state) call(now time.Time, x *downstream.Exchange, t admission.Target, out []kernel.Effect) []kernel.Effect {
	id := x.Frame.IDBytes()
	if _, taken := s.calls.Find(string(id)); taken {
		return append(out, kernel.Act(refuse{x, 400, &protocol.Fault{Name: protocol.InvalidRequest, Message: "id " + status.Printable(string(id), 100) + " is in use by a call in flight"}}))
	}
	if s.principal.behalf == nil && s.limits.MaxInFlightPerClient > 0 && s.calls.Len() >= s.limits.MaxInFlightPerClient {
		return s.refuseCall(x, &protocol.Fault{Name: protocol.Overloaded, Retryable: true, Message: "too many calls in flight for this client (limits.maxInFlightPerClient)"}, out)
	}
	if fault := s.calls.Unaudited(); fault != nil {
		return s.refuseCall(x, fault, out)
	}
	r, fault := t.Request(x, s.callerOf(x, t.Server))
	if fault != nil {
		return s.refuseCall(x, fault, out)
	}
	seq := s.calls.Next()
	h := &heldCall{x: x, Held: clientcalls.Held{View: s.catalog.view, Upstream: t.Server, Entry: t.Entry, Call: t.Call(seq, x, now, s.limits.ParkedCall)}}
	h.Token = x.Params.ProgressToken.Of(x.Frame.Raw)
	s.prepareTask(r, t)
	s.noteTenant(r.Tenant, r.Server, t.Server.Pool)
	h.Client, h.asTask, h.Limits.Patient = s.client.name, r.AsTask, r.Waits()
	s.calls.Index(string(id), seq)
	return s.calls.Begin(now, h, x, s.catalog.key.Project, t.Denied, r, out)
}

// Answered ends a call with the server's answer.
func (s *state) Answered(now time.Time, h *heldCall, m message.Done, out []kernel.Effect) []kernel.Effect {
	return s.calls.Apply(now, h.Seq, call.Answered{Frame: m.Frame}, out)
}

// Ending cancels the call's open server requests. This precedes the end of its exchange, because the cancellation may
// be sent on it.
func (s *state) Ending(h *heldCall, out []kernel.Effect) []kernel.Effect {
	return s.cancelQuestions(h.Seq, out)
}

// Ended removes the call from the index of the client's request ids. The gateway's own queries for a tasks/list are not
// in the index.
func (s *state) Ended(h *heldCall, out []kernel.Effect) []kernel.Effect {
	if h.listing == nil {
		s.calls.Unindex(string(h.ID), h.Seq)
	}
	return s.leaveWhenDrained(out)
}

// Intercept forgets a task that no longer exists. The client must not see the gateway's own queries for a tasks/list, so
// Intercept handles their effects itself.
func (s *state) Intercept(h *heldCall, e *call.Effect, out []kernel.Effect) ([]kernel.Effect, bool) {
	s.taskGone(h, e)
	if h.listing == nil {
		return out, false
	}
	return s.taskAnswered(h, e, out), true
}

// Deliver answers the client with the server's answer. The server's names and ids are replaced with public ones.
func (s *state) Deliver(_ time.Time, h *heldCall, frame *protocol.Frame, out []kernel.Effect) []kernel.Effect {
	edits := make([]rawjson.Edit, 1, 2)
	edits[0] = rawjson.Edit{Span: frame.ID, With: h.ID}
	if frame.Kind == protocol.KindResult {
		edits = append(edits, catalog.RewriteResultFor(h.View, h.Upstream, s.client.version, h.resultMethod(), frame)...)
		edits = admission.ReadAsTool(h.taskEdits(edits, frame), h.x, frame)
	}
	return append(out, reply.AnswerEdited(h.x, frame, edits, frame.Memory))
}

// Fail answers the client with a gateway error.
func (s *state) Fail(_ time.Time, h *heldCall, fault *protocol.Fault, out []kernel.Effect) []kernel.Effect {
	return s.fault(h.x, fault, out)
}

// Withdrawn ends the exchange of a call that the client has canceled.
func (s *state) Withdrawn(h *heldCall, out []kernel.Effect) []kernel.Effect {
	return s.endCanceled(h.x, &protocol.Fault{Name: protocol.Cancelled, Server: h.Server}, out)
}

// AuditWritten ends a draining session that only waited for the audit log.
func (s *state) AuditWritten(out []kernel.Effect) []kernel.Effect { return s.leaveWhenDrained(out) }

// Progress passes progress on to the client, under the client's own token.
func (s *state) Progress(now time.Time, h *heldCall, m message.Progress, out []kernel.Effect) []kernel.Effect {
	for _, e := range s.calls.Change(now, h, call.Heard{Frame: m.Frame, Behind: m.Behind}) {
		frame := rawjson.AppendEdited(nil, e.Frame.Raw, rawjson.Edit{Span: m.Token, With: h.Token})
		out = append(out, kernel.Act(reply.Notify{X: h.x, Message: protocol.Message{Frame: frame, Newline: e.Frame.Newline}, Weight: downstream.WeightProgress, Key: "progress"}))
	}
	return out
}

// LogLine passes a call's log line on to the client, unless it is below the client's level.
func (s *state) LogLine(now time.Time, h *heldCall, m message.Log, out []kernel.Effect) []kernel.Effect {
	if !s.wantsLog(&m.Frame) {
		return out
	}
	for _, e := range s.calls.Change(now, h, call.Logged{Frame: m.Frame}) {
		out = append(out, kernel.Act(reply.Notify{X: h.x, Message: e.Frame.Message(), Weight: downstream.WeightLog}))
	}
	return out
}

package stateless

import (
	"time"

	"goblin-actor/actors/call"
	"goblin-actor/actors/clientcalls"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/seal"
)

// ServerRequest passes a legacy server's request on to the client of a call. The client gets input_required and returns with the
// answer. Meanwhile the call is parked.
func (s *state) ServerRequest(now time.Time, v *heldCall, m message.ServerRequest, out []kernel.Effect) []kernel.Effect {
	if !v.Method.MayRequireInput() { // the answer to this method cannot be input_required; the server may continue without input
		return append(out, clientcalls.RefuseQuestion(m, -32602, "the client cannot be asked during "+v.Method.String()))
	}
	q := protocol.InputKindOf(m.Frame.Raw, m.Frame.Method, m.Frame.Params)
	if !v.caller.Can.Answers(q) { // neither this server request nor its call can continue
		return s.cannotAnswer(now, v, q, out)
	}
	key, named := v.keyFor(&m.Frame)
	if named {
		if answer := v.earlyAnswer(key, q); answer != nil {
			return append(out, kernel.Tell(m.From, message.ServerRequestResult{Key: m.Key, Result: answer}))
		}
	}
	limit, room := s.limits.ParkedPerClient, true
	if use := s.clients[v.caller.ClientKey]; v.round == 0 && limit > 0 && use.parked >= use.share(limit) {
		out, room = s.evictParked(now, v.caller.ClientKey, out)
	}
	if !room {
		fault := &protocol.Fault{Name: protocol.Overloaded, Server: v.Server, Message: "too many calls of this client wait for answers (limits.parkedPerClient)"}
		return s.calls.End(now, v, "too many parked calls", fault, out)
	}
	v.keepQuestion(key, m)
	out = s.calls.Apply(now, m.Seq, call.Asked{}, out)
	v.timerGen++
	return append(out, kernel.WakeAfter(questionWindow, windowOver{m.Seq, v.timerGen}))
}

// cannotAnswer ends a call because its server has sent a request for which the client has not declared support.
func (s *state) cannotAnswer(now time.Time, v *heldCall, q protocol.InputKind, out []kernel.Effect) []kernel.Effect {
	return s.calls.End(now, v, "the client cannot answer the server's question", &protocol.Fault{
		Name: protocol.ClientCannotAnswer, Server: v.Server, Required: q.Capability(),
		Message: "the client has not declared support for the server's request",
	}, out)
}

// park answers the waiting requests with the open server requests and a sealed state. The call remains held.
func (s *state) park(now time.Time, v *heldCall, out []kernel.Effect) []kernel.Effect {
	if len(v.questions) == 0 || len(v.exchanges) == 0 {
		return out
	}
	if v.round == 0 {
		s.clients[v.caller.ClientKey].parked++
	}
	v.round++
	var requests []protocol.InputRequest
	for _, key := range s.questionKeys(v) {
		f := v.questions[key].Frame
		requests = append(requests, protocol.InputRequest{Key: key, Value: protocol.AppendInputRequest(nil, &f)})
	}
	state, err := s.seal(now, v, seal.Parked, nil)
	if err != nil {
		return s.calls.Apply(now, v.Seq, call.Broken{Fault: tooLargeFault(v)}, out)
	}
	for _, x := range v.exchanges {
		frame := protocol.AppendInputRequired(nil, x.Frame.IDBytes(), requests, state, v.View.ServerInfo())
		out = append(out, kernel.Act(reply.Answer{X: x, Message: protocol.Message{Frame: frame}}))
	}
	s.release(v)
	return out
}

// resume attaches a retry to its parked call and passes its answers on. A repeated retry gets the same outcome, whether the call
// has ended or not, and a server request is answered only once. The parameter gone is the error if the called item is no
// longer listed, else nil. The call continues nevertheless, unless the principal's rights have changed.
func (s *state) resume(now time.Time, m message.StatelessRequest, gone *protocol.Fault, out []kernel.Effect) []kernel.Effect {
	x, state := m.Exchange, m.State
	caller := s.callerOf(m)
	digest := digestOf(&x.Frame, &x.Params)
	if state.Node != s.node || state.Check(caller.Principal, caller.View.Project, x.Frame.Method.String(), digest) != nil {
		return s.refused(m, badStateFault(), out)
	}
	v := s.calls.Held(state.Call)
	if v == nil {
		return s.replayOutcome(state, digest, caller, x, out)
	}
	if v.digest != digest || v.caller.Principal != caller.Principal || v.caller.View.Project != caller.View.Project {
		return s.refused(m, badStateFault(), out)
	}
	if gone != nil && v.caller.View != caller.View {
		return s.refused(m, gone, out)
	}
	v.exchanges = append(v.exchanges, x)
	v.ID = x.Frame.IDBytes()
	caller.ClientKey = v.caller.ClientKey // the call remains counted for its first client
	v.caller, v.who = caller, m.Who       // the newest capabilities apply
	s.calls.Index(v.requester(x), v.Seq)
	out = append(out, kernel.Act(reply.Watch{X: x, Seq: v.Seq}))
	out = s.raiseLevel(x, out)
	out = s.passMissed(v, x, out)
	out = s.answers(now, v, x, out)
	if len(v.questions) > 0 { // some are still open, or new ones have arrived
		return s.askAgain(now, v, out)
	}
	return s.calls.Watch(now, v, out)
}

// askAgain parks a call again with the server requests that are still open, if the client still declares that it supports them.
func (s *state) askAgain(now time.Time, v *heldCall, out []kernel.Effect) []kernel.Effect {
	for _, key := range s.questionKeys(v) {
		f := v.questions[key].Frame
		if q := protocol.InputKindOf(f.Raw, f.Method, f.Params); !v.caller.Can.Answers(q) {
			return s.cannotAnswer(now, v, q, out)
		}
	}
	return s.park(now, v, out)
}

// answers passes the retry's answers on to the server. An answer without an open server request is ignored. An invalid answer
// leaves its server request open.
func (s *state) answers(now time.Time, v *heldCall, x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	raw := x.Frame.Raw
	for _, key := range s.questionKeys(v) {
		span := rawjson.Member(raw, x.Params.InputResponses, key)
		ask := v.questions[key]
		if !x.Params.InputResponses.Present() || !span.Present() ||
			!protocol.InputKindOf(ask.Frame.Raw, ask.Frame.Method, ask.Frame.Params).ValidAnswer(span.Of(raw)) {
			continue
		}
		delete(v.questions, key)
		out = append(out, kernel.Tell(ask.From, message.ServerRequestResult{Key: ask.Key, Result: span.Of(raw)}))
		s.calls.Change(now, v, call.Replied{})
	}
	return out
}

// QuestionCanceled drops a server request that its server has canceled.
func (s *state) QuestionCanceled(now time.Time, v *heldCall, m message.ServerRequestCanceled, out []kernel.Effect) []kernel.Effect {
	for key, ask := range v.questions {
		if ask.Key == m.Key {
			delete(v.questions, key)
			return s.calls.Apply(now, m.Seq, call.Replied{}, out)
		}
	}
	return out
}

// relay passes a modern server's input_required on: its requests unchanged, its state inside a sealed one. The call
// ends, because the server keeps no call open either.
func (s *state) relay(now time.Time, v *heldCall, f *protocol.Frame, info *protocol.ResultInfo, out []kernel.Effect) []kernel.Effect {
	raw := f.Raw
	refused, q := false, protocol.InputUnknown
	var err error
	if info.InputRequests.Present() { // a state without requests is allowed
		err = protocol.InputRequests(raw, info.InputRequests, func(_ []byte, m protocol.Method, params rawjson.Span) bool {
			q = protocol.InputKindOf(raw, m, params)
			refused = !v.caller.Can.Answers(q)
			return !refused
		})
	}
	switch {
	case err != nil, refused && q == protocol.InputUnknown:
		return s.calls.Apply(now, v.Seq, call.Broken{Fault: invalidQuestionFault(v)}, out)
	case refused:
		return s.cannotAnswer(now, v, q, out)
	}
	state := ""
	if info.RequestState.Present() {
		if state, err = s.seal(now, v, seal.Relayed, info.RequestState.Of(raw)); err != nil {
			return s.calls.Apply(now, v.Seq, call.Broken{Fault: tooLargeFault(v)}, out)
		}
	}
	edits := protocol.RelayInputRequired(nil, f, info, state, v.View.ServerInfo())
	return s.relayed(now, v, rawjson.AppendEdited(nil, raw, edits...), out)
}

// relayed answers with input_required and ends the call. A retry begins a new call.
func (s *state) relayed(now time.Time, v *heldCall, raw []byte, out []kernel.Effect) []kernel.Effect {
	var f protocol.Frame
	if f.Parse(raw) != nil {
		return s.calls.Apply(now, v.Seq, call.Broken{Fault: invalidQuestionFault(v)}, out)
	}
	return s.calls.Apply(now, v.Seq, call.Answered{Frame: f}, out)
}

func invalidQuestionFault(v *heldCall) *protocol.Fault {
	return &protocol.Fault{Name: protocol.InternalFault, Server: v.Server, Message: "the server's request to the client is invalid"}
}

func tooLargeFault(v *heldCall) *protocol.Fault {
	return &protocol.Fault{Name: protocol.InternalFault, Server: v.Server, Message: "the server's requestState is too large to pass on"}
}

// waits returns what a parked call waits for its client to do, for operators.
func (s *state) waits(v *heldCall) (texts []string) {
	for _, key := range s.questionKeys(v) {
		texts = append(texts, v.questions[key].text)
	}
	return texts
}

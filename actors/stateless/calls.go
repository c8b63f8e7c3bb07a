package stateless

import (
	"slices"
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/call"
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/clientcalls"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/seal"
)

// heldCall is a call of a modern client. It outlives the HTTP request that began it while its server waits for answers.
type heldCall struct {
	clientcalls.Held
	exchanges []*downstream.Exchange // requests that wait for the outcome; none once park has answered them
	who       *identity.Principal    // nil = identity.Local
	caller    *message.Caller
	digest    [32]byte // of the request; set when the first state is sealed

	round      uint32              // number of the newest sealed state with which park answered; 0 = none
	questions  map[string]question // open server requests, by the key that the client knows
	lastKey    int
	serverKeys []string       // keys chosen by the server
	timerGen   uint64         // generation of the windowOver and graceOver timers
	askedURLs  []byte         // inner state of the client's request, if the client has been asked to open URLs; else nil
	missed     []notification // the newest notifications while no request waits, oldest first
}

// Ending does nothing: a modern client need not be told that the call's server requests are no longer open.
func (*state) Ending(_ *heldCall, out []kernel.Effect) []kernel.Effect { return out }

// Ended detaches the requests that waited for the call, and stops counting the call for its client.
func (s *state) Ended(v *heldCall, out []kernel.Effect) []kernel.Effect {
	s.release(v)
	use := s.clients[v.caller.ClientKey]
	if use == nil {
		return out
	}
	if v.round > 0 {
		use.parked--
	}
	if use.inFlight--; use.inFlight <= 0 {
		delete(s.clients, v.caller.ClientKey)
	}
	return out
}

// release removes all requests that wait for the call from the index.
func (s *state) release(v *heldCall) {
	for _, x := range v.exchanges {
		s.detach(v, x)
	}
	v.exchanges = nil
}

// requester returns the requester of an exchange of the call.
func (v *heldCall) requester(x *downstream.Exchange) clientcalls.Requester {
	return clientcalls.RequestOf(x, v.who)
}

func (s *state) detach(v *heldCall, x *downstream.Exchange) {
	s.calls.Unindex(v.requester(x), v.Seq)
}

// cancelRequest ends a request whose client on stdio no longer wants the answer. Other requests may wait for the same call.
func (s *state) cancelRequest(now time.Time, id clientcalls.Requester, out []kernel.Effect) []kernel.Effect {
	seq, _ := s.calls.Find(id)
	v := s.calls.Held(seq)
	if v == nil {
		if m, found := s.calls.CancelLookup(func(m message.StatelessRequest) bool { return clientcalls.RequestOf(m.Exchange, m.Who) == id }); found {
			return append(out, kernel.Act(reply.Accept{X: m.Exchange}))
		}
		return out
	}
	if len(v.exchanges) <= 1 {
		return s.calls.Apply(now, v.Seq, call.Withdrawn{Reason: "the client canceled the call"}, out)
	}
	for i, x := range v.exchanges {
		if v.requester(x) == id {
			s.detach(v, x)
			v.exchanges = slices.Delete(v.exchanges, i, i+1)
			return append(out, kernel.Act(reply.Accept{X: x}))
		}
	}
	return out
}

// Answered takes the server's answer, which ends the call. An input_required result or an error -32042 is first made
// into a form that the client can answer (relay, relayURLs).
func (s *state) Answered(now time.Time, v *heldCall, m message.Done, out []kernel.Effect) []kernel.Effect {
	if m.Frame.Kind == protocol.KindError {
		if requests := urlRequests(&m.Frame); requests != nil {
			return s.relayURLs(now, v, &m.Frame, requests, out)
		}
		return s.calls.Apply(now, m.Seq, call.Answered{Frame: m.Frame}, out)
	}
	var info protocol.ResultInfo
	if info.Scan(&m.Frame) != nil {
		return s.calls.Apply(now, m.Seq, call.Broken{Fault: invalidQuestionFault(v)}, out)
	}
	switch info.KindOf(v.Method, &m.Frame) {
	case protocol.ResultInputRequired:
		return s.relay(now, v, &m.Frame, &info, out)
	case protocol.ResultTask:
		if !admission.Declares(v.caller.Capabilities, message.ExtensionTasks) {
			return s.calls.Apply(now, m.Seq, call.Broken{Fault: invalidQuestionFault(v)}, out)
		}
	case protocol.ResultUnknown:
		fault := &protocol.Fault{Name: protocol.InternalFault, Server: v.Server, Message: "the server's result has an unknown resultType, or one that is not allowed here"}
		return s.calls.Apply(now, m.Seq, call.Broken{Fault: fault}, out)
	}
	return s.calls.Apply(now, m.Seq, call.Answered{Frame: m.Frame}, out)
}

// Intercept does nothing: a stateless session makes no calls of its own.
func (*state) Intercept(_ *heldCall, _ *call.Effect, out []kernel.Effect) ([]kernel.Effect, bool) {
	return out, false
}

// Fail answers every request that waits for the call with a gateway error. If none waits and the client has a sealed
// state, the error is kept for a retry.
func (s *state) Fail(now time.Time, v *heldCall, fault *protocol.Fault, out []kernel.Effect) []kernel.Effect {
	for _, x := range v.exchanges {
		out = append(out, kernel.Act(reply.Refuse{X: x, Fault: fault}))
	}
	if len(v.exchanges) == 0 && v.round > 0 {
		out = s.keep(now, outcome{seq: v.Seq, digest: v.digest, principal: v.caller.Principal, project: v.caller.View.Project, fault: fault}, out)
	}
	return out
}

// Withdrawn ends the exchanges of a call that its client has canceled.
func (*state) Withdrawn(v *heldCall, out []kernel.Effect) []kernel.Effect {
	for _, x := range v.exchanges {
		out = append(out, kernel.Act(reply.Accept{X: x}))
	}
	return out
}

// AuditWritten does nothing: step tells the gateway when draining has finished.
func (*state) AuditWritten(out []kernel.Effect) []kernel.Effect { return out }

// modernEdits appends the edits that make the server's answer a modern one.
func (s *state) modernEdits(edits []rawjson.Edit, v *heldCall, f *protocol.Frame) []rawjson.Edit {
	if f.Kind != protocol.KindResult {
		return edits
	}
	var info protocol.ResultInfo
	if info.Scan(f) != nil {
		return edits
	}
	edits = publicTask(protocol.ToModernResult(edits, v.Method, f, &info, v.View.ServerInfo()), v, &info, f, s.sealer)
	return append(edits, catalog.RewriteResult(v.View, v.Upstream, v.Method, f)...)
}

// Deliver answers every request that waits for the call, each under its own id. If the client has a sealed state, the answer is
// also kept for a retry, in case it is lost.
func (s *state) Deliver(now time.Time, v *heldCall, frame *protocol.Frame, out []kernel.Effect) []kernel.Effect {
	s.edits = s.modernEdits(append(s.edits[:0], rawjson.Edit{Span: frame.ID}), v, frame)
	defer clear(s.edits)
	under := func(id []byte) []rawjson.Edit { // valid until the next call; AppendEdited sorts edits in place
		at := slices.IndexFunc(s.edits, func(e rawjson.Edit) bool { return e.Span == frame.ID })
		s.edits[at].With = id
		return s.edits
	}
	status := statusOf(frame)
	for _, x := range v.exchanges {
		if status != 200 {
			reply.Report(x, frame)
			out = append(out, kernel.Act(relayError{x, status, rawjson.AppendEdited(nil, frame.Raw, under(x.Frame.IDBytes())...)}))
			continue
		}
		edits := admission.ReadAsTool(under(x.Frame.IDBytes()), x, frame)
		out = append(out, reply.AnswerEdited(x, frame, edits, nil))
	}
	if v.round == 0 {
		return out
	}
	return s.keep(now, outcome{seq: v.Seq, digest: v.digest, principal: v.caller.Principal, project: v.caller.View.Project, frame: rawjson.AppendEdited(nil, frame.Raw, under([]byte("0"))...)}, out)
}

// statusOf returns the HTTP status of a server's answer: MCP 2026-07-28 gives two errors a status of their own
// (basic/transports/streamable-http).
func statusOf(f *protocol.Frame) int {
	if f.Kind != protocol.KindError {
		return 200
	}
	switch code, _ := protocol.ErrorNumber(f); code {
	case -32021: // missing client capability
		return 400
	case -32601: // method not found
		return 404
	}
	return 200
}

// clientLeft detaches the request of a client that has left. If no request is left, its call is canceled, unless the
// client has a sealed state with which it may return: then a parked call waits until its timeout, and any other call
// for returnGrace.
func (s *state) clientLeft(now time.Time, m reply.Departed, out []kernel.Effect) []kernel.Effect {
	v := s.calls.Held(m.Seq)
	if v == nil {
		return out
	}
	s.detach(v, m.X)
	v.exchanges = slices.DeleteFunc(v.exchanges, func(x *downstream.Exchange) bool { return x == m.X })
	if len(v.exchanges) > 0 || v.State == call.Parked && v.round > 0 {
		return out
	}
	if v.round > 0 {
		v.timerGen++
		return append(out, kernel.WakeAfter(returnGrace, graceOver{m.Seq, v.timerGen}))
	}
	return s.calls.Apply(now, m.Seq, call.Withdrawn{Reason: "the client left"}, out)
}

// seal returns a sealed state. The client sends it as requestState when it returns.
func (s *state) seal(now time.Time, v *heldCall, kind seal.Kind, inner []byte) (string, error) {
	if v.digest == ([32]byte{}) && len(v.exchanges) > 0 { // all requests of the call have the same digest
		v.digest = digestOf(&v.exchanges[0].Frame, &v.exchanges[0].Params)
	}
	node := s.node
	if kind == seal.Relayed && s.sealer.Node() != "" && anyNodeContinues(v, inner) {
		node = ""
	}
	return s.sealer.Seal(&seal.State{
		Kind: kind, Call: v.Seq, Actor: s.number, Node: node, Server: v.Server, Principal: v.caller.Principal, Project: v.caller.View.Project, Method: v.Method.String(),
		Digest: v.digest, Round: v.round, Expiry: now.Add(s.limits.ParkedCall), Inner: inner,
	})
}

// anyNodeContinues reports whether each node of the cluster can continue a call with the inner state: it reaches the server without another
// node between them, and the server does not keep the state for one connection, as legacy servers may.
func anyNodeContinues(v *heldCall, inner []byte) bool {
	rules := &v.Upstream.Rules
	return rules.Remote() && rules.Hop == "" && !rules.Isolates() && (protocol.IsModern(v.Upstream.Protocol) || isAskedURLs(inner))
}

// digestOf returns the digest of what a request asks for. A retry must ask for the same.
func digestOf(f *protocol.Frame, p *protocol.Params) [32]byte {
	target := p.Name
	if !target.Present() {
		target = p.URI
	}
	return seal.Digest(f.Method.String(), target.Of(f.Raw), p.Arguments.Of(f.Raw))
}

package stateless

import (
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/clientcalls"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/seal"
)

// request answers the methods of the gateway itself, and dispatches all others. The request's headers and _meta have
// already been checked against each other.
func (s *state) request(now time.Time, m message.StatelessRequest, out []kernel.Effect) []kernel.Effect {
	x := m.Exchange
	if fault := s.principals.Readmit(&m.Admitted); fault != nil {
		return append(out, kernel.Act(reply.Refuse{X: x, Fault: fault}))
	}
	if out, early := s.waitForCatalog(m, out); early {
		return out
	}
	view, ok := s.startup.snapshot.View(m.View)
	if !ok {
		return append(out, kernel.Act(reply.Refuse{X: x, Fault: admission.NoView(s.startup.snapshot, m.View)}))
	}
	if m.State != nil && m.State.Kind == seal.Parked {
		return s.retry(now, m, view, out)
	}
	switch x.Frame.Method.Owner() {
	case protocol.OwnerGateway: // subscriptions/listen has its own actor
		return s.discover(view, x, out)
	case protocol.OwnerCatalog:
		kind, _ := x.Frame.Method.Lists()
		return s.list(view, x, kind, out)
	case protocol.OwnerServer:
		return s.callItem(now, m, view, out)
	case protocol.OwnerTasks:
		t, fault := taskTarget(view, x, admission.TaskIDs{Sealer: s.sealer, Principal: m.Principal(), Hop: m.Behalf != nil})
		if fault != nil {
			return s.refused(m, fault, out)
		}
		return s.call(now, m, view, t, out)
	}
	if servers := view.Servers(); len(servers) == 1 && x.Frame.Method == protocol.MethodOther && view.Trusts(servers[0]) {
		return s.call(now, m, view, admission.Target{Server: servers[0]}, out)
	}
	return append(out, kernel.Act(reply.Refuse{X: x, Fault: protocol.NoMethod(x.Frame.MethodText())}))
}

// retry resumes the parked call of a request. As in any request, its headers must match its arguments.
func (s *state) retry(now time.Time, m message.StatelessRequest, view *catalog.View, out []kernel.Effect) []kernel.Effect {
	x, t, fault := admission.FindTarget(view, m.Exchange)
	m.Exchange = x
	if fault == nil { // a tool that no longer exists has no headers to check
		if fault := s.checkHeaders(t, m.Exchange); fault != nil {
			return append(out, kernel.Act(reply.Refuse{X: m.Exchange, Fault: fault}))
		}
	}
	return s.resume(now, m, fault, out)
}

// callItem looks up the item that the request names, and sends the call to the pool of its server.
func (s *state) callItem(now time.Time, m message.StatelessRequest, view *catalog.View, out []kernel.Effect) []kernel.Effect {
	x, t, fault := admission.FindTarget(view, m.Exchange)
	m.Exchange = x
	if !s.calls.Retrying() {
		out = admission.CountDenied(t.Denied, m.Who, m.View, out)
	}
	if fault != nil || t.Unlisted {
		var waits bool
		if out, fault, waits = s.calls.Lookup(m, view, m.Exchange, fault, out); waits {
			return out
		}
	}
	if fault == nil {
		fault = s.checkHeaders(t, m.Exchange)
	}
	if fault != nil {
		return s.refusedItem(m, fault, t.Denied, out)
	}
	return s.call(now, m, view, t, out)
}

// Repeat handles a request again after the lists it waited for were refreshed.
func (s *state) Repeat(now time.Time, m message.StatelessRequest, out []kernel.Effect) []kernel.Effect {
	return s.request(now, m, out)
}

// checkHeaders checks the Mcp-Param-* headers of a tools/call against its arguments, on HTTP only.
func (*state) checkHeaders(t admission.Target, x *downstream.Exchange) *protocol.Fault {
	if x.Frame.Method != protocol.MethodToolsCall || x.Origin.Stdio || x.Internal || t.Entry == nil {
		return nil
	}
	if t.Entry.Bindings() == nil {
		return nil
	}
	return t.Entry.Bindings().Check(x.Origin.Header.Get, x.Params.Arguments.Of(x.Frame.Raw))
}

// discover describes the gateway, but refuses a request that comes from this gateway itself. If the client is another
// gateway, the result also contains this gateway's node name. MCP 2026-07-28, server/discover.
func (s *state) discover(view *catalog.View, x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	if x.Origin.Principal.Behalf() != nil {
		return s.discoverHop(view, x, out)
	}
	peer := protocol.NodeOf(x.Frame.Raw, x.Params.Meta)
	if peer != "" && peer == s.node {
		return append(out, kernel.Act(reply.Refuse{X: x, Fault: admission.OwnServerFault()}))
	}
	b := []byte(`{"supportedVersions":["` + protocol.Version20260728 + `"],"capabilities":`)
	b = append(b, admission.CapabilitiesFor(view, protocol.EraModern)...)
	if instructions := view.Instructions(); instructions != "" {
		b = rawjson.AppendQuoted(append(b, `,"instructions":`...), instructions)
	}
	if peer != "" {
		b = admission.AppendNode(b, s.node)
	}
	return result(view, x, append(b, '}'), out)
}

func (*state) list(view *catalog.View, x *downstream.Exchange, kind protocol.ItemKind, out []kernel.Effect) []kernel.Effect {
	cursor, ok := rawjson.Unquote(x.Params.Cursor.Of(x.Frame.Raw))
	if x.Params.Cursor.Present() && !ok {
		return append(out, kernel.Act(reply.Refuse{X: x, Fault: protocol.BadParams("params.cursor: want a string")}))
	}
	page, fault := view.Page(kind, protocol.EraModern, cursor)
	if fault != nil {
		return append(out, kernel.Act(reply.Refuse{X: x, Fault: fault}))
	}
	if cursor == "" {
		out = clientcalls.NotifyListServed(view, kind, out)
	}
	return result(view, x, page, out)
}

// result answers with a result of the gateway, to which it adds the members that every result of MCP 2026-07-28 has.
func result(view *catalog.View, x *downstream.Exchange, result []byte, out []kernel.Effect) []kernel.Effect {
	raw := protocol.AppendResult(nil, x.Frame.IDBytes(), result)
	var f protocol.Frame
	var info protocol.ResultInfo
	if f.Parse(raw) != nil || info.Scan(&f) != nil {
		return append(out, kernel.Act(reply.Refuse{X: x, Fault: &protocol.Fault{Name: protocol.InternalFault, Message: "the gateway created an invalid result"}}))
	}
	edits := protocol.ToModernResult(nil, x.Frame.Method, &f, &info, view.ServerInfo())
	return append(out, kernel.Act(reply.Answer{X: x, Message: protocol.Message{Frame: rawjson.AppendEdited(nil, f.Raw, edits...), Newline: f.Newline}}))
}

// call holds the call and sends it to the pool of the target's server.
func (s *state) call(now time.Time, m message.StatelessRequest, view *catalog.View, t admission.Target, out []kernel.Effect) []kernel.Effect {
	x := m.Exchange
	caller := s.callerOf(m)
	use := s.clients[caller.ClientKey] // nil = the client has no call
	if limit := s.limits.MaxInFlightPerClient; limit > 0 && use != nil && use.inFlight >= use.share(limit) {
		return s.refused(m, &protocol.Fault{Name: protocol.Overloaded, Retryable: true, Message: "too many calls in flight for this client's share of the limit (limits.maxInFlightPerClient)"}, out)
	}
	if fault := s.calls.Unaudited(); fault != nil {
		return s.refused(m, fault, out)
	}
	r, fault := t.Request(x, caller)
	if fault != nil {
		return s.refused(m, fault, out)
	}
	r.Modern = true
	if m.State != nil && r.Rate.Requests > 0 && s.resumed.first(now, s.limits.ParkedCall, x.Params.RequestState.Of(x.Frame.Raw)) {
		r.Rate = config.Rate{} // the rate limit counted the call when it began
	}
	if x.Frame.Method == protocol.MethodToolsCall && admission.HasLegacyTasks(t.Server) {
		admission.WithoutTasks(r, t.Entry)
	}
	var places []byte
	if m.State != nil {
		if fault := s.unwrap(m.State, r); fault != nil {
			return s.refused(m, fault, out)
		}
		places = askedURLsIn(m.State)
	}
	seq := message.SeqInLane(message.LaneOf(caller.ClientKey), s.calls.Next()) // messages about the call wait in its client's mailbox lane
	v := &heldCall{
		Held:      clientcalls.Held{View: view, Upstream: t.Server, Entry: t.Entry, Call: t.Call(seq, x, now, s.limits.ParkedCall)},
		exchanges: []*downstream.Exchange{x}, who: m.Who, caller: caller, askedURLs: places,
	}
	v.Client = s.memo.clientName(caller.ClientInfo)
	out = s.raiseLevel(x, out)
	if use == nil {
		use = s.newUsage(x)
		s.clients[caller.ClientKey] = use
	}
	use.inFlight++
	s.calls.Index(v.requester(x), seq)
	out = append(out, kernel.Act(reply.Watch{X: x, Seq: seq}))
	return s.calls.Begin(now, v, x, m.View.Project, t.Denied, r, out)
}

// unwrap replaces the sealed requestState with the server's own, or removes it if the server gave none. It returns an
// error if the state does not belong to the request.
func (*state) unwrap(state *seal.State, r *message.Request) *protocol.Fault {
	if state.Server != r.Server || state.Check(r.Caller.Principal, r.Caller.View.Project, r.Frame.Method.String(), digestOf(&r.Frame, &r.Params)) != nil {
		return badStateFault()
	}
	var f protocol.Frame
	var params protocol.Params
	edit := rawjson.Edit{Span: r.Params.RequestState, With: state.Inner}
	if askedURLsIn(state) != nil { // the call starts again without a state: the server gave none
		var ok bool
		if edit, ok = rawjson.DeleteMember(r.Frame.Raw, r.Frame.Params, "requestState"); !ok {
			return badStateFault()
		}
	}
	if f.Parse(rawjson.AppendEdited(nil, r.Frame.Raw, edit)) != nil || params.Scan(&f) != nil {
		return badStateFault()
	}
	if r.Target.Present() { // its position in the new frame differs
		switch f.Method {
		case protocol.MethodResourcesRead:
			r.Target = params.URI
		default:
			r.Target = params.Name
		}
	}
	r.Frame, r.Params = f, params
	return nil
}

func badStateFault() *protocol.Fault {
	return &protocol.Fault{Name: protocol.RequestStateInvalid, Message: "invalid or expired requestState"}
}

// callerOf returns the caller of a request. A modern request describes its client completely.
func (s *state) callerOf(m message.StatelessRequest) *message.Caller {
	x := m.Exchange
	raw := x.Frame.Raw
	c := &message.Caller{
		Principal: m.Principal(), Epoch: m.Epoch, ClientKey: s.memo.clientKey(x, m.Who), View: m.View, Version: protocol.Version20260728, Capabilities: x.Params.MetaCapabilities.Of(raw),
		ClientInfo: x.Params.MetaClientInfo.Of(raw), LogLevel: wantedLevel(x),
	}
	if c.Hop = m.Behalf != nil; c.Hop && m.Behalf.Client != "" {
		c.ClientKey = m.Behalf.Client
	}
	c.Can = s.memo.canOf(c.Capabilities)
	return c
}

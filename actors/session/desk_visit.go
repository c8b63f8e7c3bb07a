package session

import (
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/seal"
)

// visit answers what the gateway knows by itself and dispatches the rest. The frame's headers and _meta have been
// checked against each other already.
func (s *deskState) visit(now time.Time, m message.Visit, out []kernel.Effect) []kernel.Effect {
	x := m.Exchange
	if out, early := s.early(m, out); early {
		return out
	}
	view, ok := s.snapshot.View(m.View)
	if !ok {
		return append(out, kernel.Act(deny{x: x, fault: protocol.NoServer(m.View.Server)}))
	}
	if m.State != nil && m.State.Kind == seal.Parked {
		if t, fault := resolve(view, x); fault == nil { // a tool that is gone meanwhile has no headers
			if fault := s.checkHeaders(t, x); fault != nil {
				return append(out, kernel.Act(deny{x: x, fault: fault}))
			}
		}
		return s.comeBack(now, m, out)
	}
	switch x.Frame.M.Owner() {
	case protocol.OwnerGateway: // subscriptions/listen goes to an actor of its own
		peer := protocol.NodeOf(x.Frame.Raw, x.Params.Meta)
		if peer != "" && peer == s.node {
			return append(out, kernel.Act(deny{x: x, fault: ownServer()}))
		}
		return s.result(x, s.discover(view, peer != ""), out)
	case protocol.OwnerCatalog:
		kind, _ := x.Frame.M.Lists()
		return s.list(view, x, kind, out)
	case protocol.OwnerServer:
		t, fault := resolve(view, x)
		if fault != nil {
			return s.unknown(m, view, fault, out)
		}
		if t.unlisted {
			if out, waits := s.doubted(m, view, out); waits {
				return out
			}
		}
		if fault = s.checkHeaders(t, x); fault != nil {
			return append(out, kernel.Act(deny{x: x, fault: fault}))
		}
		return s.dispatch(now, m, view, t, out)
	case protocol.OwnerTasks:
		t, fault := taskTarget(view, x)
		if fault != nil {
			return append(out, kernel.Act(deny{x: x, fault: fault}))
		}
		return s.dispatch(now, m, view, t, out)
	}
	if servers := view.Servers(); len(servers) == 1 && x.Frame.M == protocol.MethodOther {
		return s.dispatch(now, m, view, target{server: servers[0]}, out)
	}
	return append(out, kernel.Act(deny{x: x, fault: protocol.NoMethod(x.Frame.MethodText())}))
}

// unknown refuses a request for what is not found, after a look at what is new if there may be something.
func (s *deskState) unknown(m message.Visit, view *catalog.View, fault *protocol.Fault, out []kernel.Effect) []kernel.Effect {
	fault, servers, kinds := unknown(view, m.Exchange, fault)
	out, waits := s.seekers.begin(m, servers, kinds, s.self, &s.seq, out)
	if waits {
		return out
	}
	return append(out, kernel.Act(deny{x: m.Exchange, fault: fault}))
}

// doubted has a resource looked for in a new list, if there may be one, before its server's pool is asked for it.
func (s *deskState) doubted(m message.Visit, view *catalog.View, out []kernel.Effect) ([]kernel.Effect, bool) {
	fault, servers, kinds := unknown(view, m.Exchange, noResource(m.Exchange))
	if fault.Name == protocol.ServerUnavailable {
		return append(out, kernel.Act(deny{x: m.Exchange, fault: fault})), true
	}
	return s.seekers.begin(m, servers, kinds, s.self, &s.seq, out)
}

// seekAgain answers a request by what is listed now.
func (s *deskState) seekAgain(now time.Time, m message.Visit, out []kernel.Effect) []kernel.Effect {
	s.seekers.again = true
	defer func() { s.seekers.again = false }()
	return s.visit(now, m, out)
}

// checkHeaders holds the Mcp-Param-* headers of a tools/call against its arguments, on HTTP only (rule H13).
func (s *deskState) checkHeaders(t target, x *downstream.Exchange) *protocol.Fault {
	if x.Frame.M != protocol.MethodToolsCall || x.Origin.Header == nil || t.entry == nil {
		return nil
	}
	if t.entry.Bindings == nil {
		return nil
	}
	return t.entry.Bindings.Check(x.Origin.Header.Get, x.Params.Arguments.Of(x.Frame.Raw))
}

// discover is what the gateway says of itself. MCP 2026-07-28, server/discover. Another gateway is told
// which one it is.
func (s *deskState) discover(view *catalog.View, gateway bool) []byte {
	b := []byte(`{"supportedVersions":["` + protocol.Version20260728 + `"],"capabilities":`)
	b = append(b, capabilitiesFor(view, true)...)
	if instructions := view.Instructions(); instructions != "" {
		b = protocol.AppendQuoted(append(b, `,"instructions":`...), instructions)
	}
	if gateway {
		b = appendNode(b, s.node)
	}
	return append(b, '}')
}

func (s *deskState) list(view *catalog.View, x *downstream.Exchange, kind protocol.ItemKind, out []kernel.Effect) []kernel.Effect {
	cursor, ok := protocol.Unquote(x.Params.Cursor.Of(x.Frame.Raw))
	if x.Params.Cursor.Present() && !ok {
		return append(out, kernel.Act(deny{x: x, fault: protocol.BadParams("params.cursor: want a string")}))
	}
	page, fault := view.Page(kind, true, cursor)
	if fault != nil {
		return append(out, kernel.Act(deny{x: x, fault: fault}))
	}
	if cursor == "" {
		out = glanced(view, kind, out)
	}
	return s.result(x, page, out)
}

// result answers with a result of ours and the members a modern result has (bridge.md section 2).
func (s *deskState) result(x *downstream.Exchange, result []byte, out []kernel.Effect) []kernel.Effect {
	raw := protocol.AppendResult(nil, x.Frame.IDBytes(), result)
	var f protocol.Frame
	var info protocol.ResultInfo
	if f.Parse(raw) != nil || info.Scan(&f) != nil {
		return append(out, kernel.Act(deny{x: x, fault: &protocol.Fault{Name: protocol.InternalFault, Message: "the gateway made a result it cannot read"}}))
	}
	edits := protocol.ToModernResult(nil, x.Frame.M, &f, &info, s.info)
	return append(out, kernel.Act(answer{x: x, frame: protocol.AppendEdited(nil, f.Raw, edits...), newline: f.Newline}))
}

// dispatch holds the call and hands it to the pool of the target's server.
func (s *deskState) dispatch(now time.Time, m message.Visit, view *catalog.View, t target, out []kernel.Effect) []kernel.Effect {
	x := m.Exchange
	caller := s.callerOf(x)
	use := s.clients[caller.ClientKey] // nil = it has no call
	if limit := s.limits.MaxInFlightPerClient; limit > 0 && use != nil && use.inFlight >= limit {
		return append(out, kernel.Act(deny{x: x, fault: &protocol.Fault{Name: protocol.Overloaded, Retryable: true, Message: "too many calls in flight for this client (limits.maxInFlightPerClient)"}}))
	}
	r := t.request(x, caller)
	r.Modern = true
	if x.Frame.M == protocol.MethodToolsCall && legacyTasks(t.server) {
		withoutTasks(r, t.entry)
	}
	var places []byte
	if m.State != nil {
		if fault := s.unwrap(m.State, r); fault != nil {
			return append(out, kernel.Act(deny{x: x, fault: fault}))
		}
		places = visitedIn(m.State)
	}
	s.seq++
	seq := message.NumberIn(message.LaneOf(caller.ClientKey), s.seq) // what is told of the call comes in its client's turn
	v := &visit{
		xs: []*downstream.Exchange{x}, view: view, server: t.server, caller: caller, visited: places,
		Call: t.call(seq, x, now, s.limits.ParkedCall),
	}
	out = s.wantLevel(x, out)
	if use == nil {
		use = &usage{}
		s.clients[caller.ClientKey] = use
	}
	use.inFlight++
	s.calls[seq] = v
	s.byID[idOf(x)] = seq
	out = append(out, kernel.Act(watch{x: x, seq: seq}))
	out = s.clock.by(now, v.Deadline(), out)
	return append(out, kernel.Tell(t.server.Pool, message.Dispatch{Call: s.ref(seq), Request: r}))
}

// unwrap puts a server's own requestState back in place of the sealed one.
func (s *deskState) unwrap(state *seal.State, r *message.Request) *protocol.Fault {
	if state.Server != r.Server || state.Check(r.Caller.Principal, r.Frame.M.String(), digestOf(&r.Frame, &r.Params)) != nil {
		return badState()
	}
	var f protocol.Frame
	var params protocol.Params
	edit := protocol.Edit{Span: r.Params.RequestState, With: state.Inner}
	if visitedIn(state) != nil { // the call begins anew; its answers were for the client's user alone
		var ok bool
		if edit, ok = protocol.DeleteMember(r.Frame.Raw, r.Frame.Params, "requestState"); !ok {
			return badState()
		}
	}
	if f.Parse(protocol.AppendEdited(nil, r.Frame.Raw, edit)) != nil || params.Scan(&f) != nil {
		return badState()
	}
	if r.Target.Present() { // it stands elsewhere in the new frame
		switch f.M {
		case protocol.MethodResourcesRead:
			r.Target = params.URI
		default:
			r.Target = params.Name
		}
	}
	r.Frame, r.Params = f, params
	return nil
}

func badState() *protocol.Fault {
	return &protocol.Fault{Name: protocol.RequestStateInvalid, Message: "invalid or expired requestState"}
}

// callerOf reads who asks from the request itself: a modern request carries everything with it.
func (s *deskState) callerOf(x *downstream.Exchange) message.Caller {
	raw := x.Frame.Raw
	level, _ := protocol.Unquote(x.Params.MetaLogLevel.Of(raw))
	c := message.Caller{
		ClientKey: s.clientKey(x), Version: protocol.Version20260728, Capabilities: x.Params.MetaCapabilities.Of(raw),
		ClientInfo: x.Params.MetaClientInfo.Of(raw), LogLevel: level,
	}
	c.Can = s.can(c.Capabilities)
	return c
}

// can reads capabilities; a client sends the same with every request, so the last reading is kept.
func (s *deskState) can(capabilities []byte) message.Can {
	if string(capabilities) != s.lastCapabilities {
		s.lastCapabilities, s.lastCan = string(capabilities), message.CanOf(capabilities)
	}
	return s.lastCan
}

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
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// inbound handles one message of the client.
func (s *state) inbound(now time.Time, m message.Inbound, out []kernel.Effect) []kernel.Effect {
	x := m.Exchange
	if s.client.path != "" && x.Origin.Path != s.client.path {
		return append(out, kernel.Act(refuse{x, 404, &protocol.Fault{Name: protocol.InvalidRequest, Message: "Session not found on this path: it was opened on " + s.client.path}}))
	}
	if v := x.Origin.Version; v != "" && !protocol.IsLegacy(v) {
		speaks := "this one speaks " + s.client.version
		if s.client.version == "" {
			speaks = "initialize opens a session with version " + protocol.LatestLegacy + " or an older one"
		}
		return append(out, kernel.Act(refuse{x, 400, &protocol.Fault{Name: protocol.InvalidRequest,
			Message: "MCP-Protocol-Version " + quote(v) + " is not supported in a session; " + speaks}}))
	}
	if refusal := s.bindView(m); refusal != nil {
		return append(out, kernel.Act(refuseAdmission{x, refusal}))
	}
	if x.Batch != nil {
		return s.batch(now, m, out)
	}
	switch x.Frame.Kind {
	case protocol.KindRequest:
		return s.request(now, x, out)
	case protocol.KindNotification:
		out = append(out, kernel.Act(reply.Accept{X: x}))
		return s.notification(now, x, out)
	}
	return s.response(now, x, append(out, kernel.Act(reply.Accept{X: x})))
}

func (s *state) notification(now time.Time, x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	switch x.Frame.Method {
	case protocol.NotificationInitialized:
		s.client.ready = s.client.initialized
		return s.notifyChanges(out)
	case protocol.NotificationCancelled:
		return s.cancel(now, x.Params.RequestID.Of(x.Frame.Raw), out)
	case protocol.NotificationRootsListChanged:
		return s.tellNodes(cluster.Hint{Kind: cluster.HintRoots}, s.tellRootsPools(out))
	}
	return out
}

// cancel cancels the request with that id, raw JSON. If it does not run here, it may run at another node.
func (s *state) cancel(now time.Time, id []byte, out []kernel.Effect) []kernel.Effect {
	out, found := s.cancelHere(now, string(id), out)
	if h, ok := CancelHint("", "", id); ok && !found {
		return s.tellNodes(h, out)
	}
	return out
}

// cancelHere cancels the request with that id, if it runs on this node.
func (s *state) cancelHere(now time.Time, id string, out []kernel.Effect) (_ []kernel.Effect, found bool) {
	if seq, ok := s.calls.Find(id); ok {
		return s.calls.Apply(now, seq, call.Withdrawn{Reason: "the client canceled the call"}, out), true
	}
	x, found := s.calls.CancelLookup(func(x *downstream.Exchange) bool { return string(x.Frame.IDBytes()) == id })
	if !found {
		x, found = s.takeWaiting(id)
	}
	if !found {
		return out, false
	}
	return s.endCanceled(x, &protocol.Fault{Name: protocol.Cancelled}, out), true
}

// endCanceled ends the exchange of a request that its client has canceled. The specification says that such a
// request should not be answered. But over streamable HTTP a request has its own HTTP response, which should contain a
// JSON-RPC response (MCP 2025-11-25, basic/transports, sending messages): without it, the Python client waits forever.
// Clients ignore late answers to requests that they have canceled.
func (s *state) endCanceled(x *downstream.Exchange, f *protocol.Fault, out []kernel.Effect) []kernel.Effect {
	if s.transport != "http" {
		return append(out, kernel.Act(reply.Accept{X: x}))
	}
	return s.fault(x, f, out)
}

// request answers what the gateway itself can, and dispatches the rest.
func (s *state) request(now time.Time, x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	if x.Frame.Method == protocol.MethodInitialize {
		return s.initialize(now, x, out)
	}
	if x.Frame.Method == protocol.MethodPing {
		return s.result(x, []byte("{}"), out)
	}
	if !s.client.initialized {
		return append(out, kernel.Act(refuse{x, 400, &protocol.Fault{Name: protocol.InvalidRequest, Message: "send initialize first"}}))
	}
	s.client.ready = true // the specification requires notifications/initialized first, but all SDK servers tolerate its absence
	if s.life.draining {
		return s.fault(x, &protocol.Fault{Name: protocol.ShuttingDown, Message: "the gateway is shutting down", Retryable: true}, out)
	}
	if !x.Frame.Method.In(protocol.EraLegacy) {
		return s.fault(x, protocol.NoMethod(x.Frame.MethodText()), out)
	}
	if s.catalog.gone {
		return s.fault(x, protocol.NoProject(s.catalog.key.Project), out)
	}
	return s.serve(now, x, out)
}

// serve passes a request of an open session to the function that handles its method.
func (s *state) serve(now time.Time, x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	switch x.Frame.Method.Owner() {
	case protocol.OwnerCatalog:
		kind, _ := x.Frame.Method.Lists()
		return s.list(x, kind, out)
	case protocol.OwnerServer:
		return s.dispatch(now, x, out)
	case protocol.OwnerTasks:
		return s.taskRequest(now, x, out)
	}
	switch x.Frame.Method {
	case protocol.MethodLoggingSetLevel:
		return s.setLevel(x, out)
	case protocol.MethodResourcesSubscribe:
		return s.subscribe(x, out)
	case protocol.MethodResourcesUnsubscribe:
		return s.unsubscribe(x, out)
	}
	if server := s.onlyServer(); server != nil && x.Frame.Method == protocol.MethodOther && s.catalog.view.Trusts(server) {
		return s.call(now, x, admission.Target{Server: server}, out) // a method of a later revision, or one that only this server defines
	}
	return s.fault(x, protocol.NoMethod(x.Frame.MethodText()), out)
}

// onlyServer returns the server in view if there is exactly one, else nil. It gets the methods that the gateway does not know.
func (s *state) onlyServer() *catalog.Server {
	if servers := s.catalog.view.Servers(); len(servers) == 1 {
		return servers[0]
	}
	return nil
}

// list answers a list request from the snapshot. No server is queried, so slow servers do not delay the answer.
func (s *state) list(x *downstream.Exchange, kind protocol.ItemKind, out []kernel.Effect) []kernel.Effect {
	cursor, ok := rawjson.Unquote(x.Params.Cursor.Of(x.Frame.Raw))
	if x.Params.Cursor.Present() && !ok {
		return s.fault(x, protocol.BadParams("params.cursor: want a string"), out)
	}
	page, fault := s.catalog.view.Page(kind, protocol.EraLegacy, cursor)
	if fault != nil {
		return s.fault(x, fault, out)
	}
	if cursor == "" {
		out = clientcalls.NotifyListServed(s.catalog.view, kind, out)
	}
	return s.result(x, page, out)
}

// result answers a request with a result of the gateway. A large one is a list page that many sessions share, so it is not copied.
func (*state) result(x *downstream.Exchange, result []byte, out []kernel.Effect) []kernel.Effect {
	if len(result) >= reply.LargeFrame {
		around := protocol.AppendResult(nil, x.Frame.IDBytes(), nil)
		end := len(around) - 1
		return append(out, kernel.Act(reply.AnswerPieces{X: x, Pieces: [][]byte{around[:end], result, around[end:]}}))
	}
	return append(out, kernel.Act(reply.Answer{X: x, Message: protocol.Message{Frame: protocol.AppendResult(nil, x.Frame.IDBytes(), result)}}))
}

// fault answers a request with a gateway error.
func (*state) fault(x *downstream.Exchange, f *protocol.Fault, out []kernel.Effect) []kernel.Effect {
	if f.Late != nil {
		return append(out, kernel.Act(reply.AnswerFault{X: x, Fault: f}))
	}
	x.Report.Code = f.Code(protocol.EraLegacy)
	return append(out, kernel.Act(reply.Answer{X: x, Message: protocol.Message{Frame: f.AppendTo(nil, x.Frame.IDBytes(), protocol.EraLegacy)}}))
}

func quote(s string) string { return string(rawjson.Quote(status.Printable(s, 100))) }

func shortID(id string) string { return id[:min(8, len(id))] }

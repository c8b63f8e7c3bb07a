package session

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
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

// inbound handles one message of the client.
func (s *state) inbound(now time.Time, m message.Inbound, out []kernel.Effect) []kernel.Effect {
	x := m.Exchange
	if s.path != "" && x.Origin.Path != s.path {
		return append(out, kernel.Act(refuse{x, 404, &protocol.Fault{Name: protocol.InvalidRequest, Message: "Session not found on this path: it was opened on " + s.path}}))
	}
	if v := x.Origin.Version; v != "" && !protocol.IsLegacy(v) {
		return append(out, kernel.Act(refuse{x, 400, &protocol.Fault{Name: protocol.InvalidRequest,
			Message: "MCP-Protocol-Version " + quote(v) + " is not supported in a session; this one speaks " + s.version}}))
	}
	if refusal := s.bind(m); refusal != nil {
		return append(out, kernel.Act(turnAway{x, refusal}))
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
	switch x.Frame.M {
	case protocol.NotificationInitialized:
		s.ready = s.initialized
		return s.tellChanges(out)
	case protocol.NotificationCancelled:
		id := x.Params.RequestID.Of(x.Frame.Raw)
		if seq, ok := s.calls.Find(string(id)); ok {
			return s.calls.Apply(now, seq, call.Withdrawn{Reason: "the client cancelled"}, out)
		}
		if y, found := s.calls.CancelLookup(func(y *downstream.Exchange) bool { return string(y.Frame.IDBytes()) == string(id) }); found {
			return s.withdrawn(y, &protocol.Fault{Name: protocol.Cancelled}, out)
		}
	case protocol.NotificationRootsListChanged:
		for _, server := range slices.Sorted(maps.Keys(s.rootsOf)) {
			out = append(out, kernel.Tell(s.rootsOf[server], message.RootsChanged{Client: s.id}))
		}
	}
	return out
}

// withdrawn ends the exchange of a request that its client has cancelled. The specification wants no answer to it. But over
// streamable HTTP a request has a response of its own, which must hold one (MCP 2025-11-25, basic/transports, sending
// messages): Python's client waits for ever when there is none. What comes late is to be ignored by whoever has cancelled.
func (s *state) withdrawn(x *downstream.Exchange, f *protocol.Fault, out []kernel.Effect) []kernel.Effect {
	if s.transport != "http" {
		return append(out, kernel.Act(reply.Accept{X: x}))
	}
	return s.fault(x, f, out)
}

// request answers what the gateway knows by itself and dispatches the rest.
func (s *state) request(now time.Time, x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	if x.Frame.M == protocol.MethodInitialize {
		return s.initialize(now, x, out)
	}
	if x.Frame.M == protocol.MethodPing {
		return s.result(x, []byte("{}"), out)
	}
	if !s.initialized {
		return append(out, kernel.Act(refuse{x, 400, &protocol.Fault{Name: protocol.InvalidRequest, Message: "send initialize first"}}))
	}
	s.ready = true // MCP wants notifications/initialized first; every SDK serves a client that forgot it
	if s.draining {
		return s.fault(x, &protocol.Fault{Name: protocol.ShuttingDown, Message: "the gateway is shutting down", Retryable: true}, out)
	}
	if !x.Frame.M.In(protocol.EraLegacy) {
		return s.fault(x, protocol.NoMethod(x.Frame.MethodText()), out)
	}
	if s.viewGone {
		return s.fault(x, protocol.NoProject(s.key.Project), out)
	}
	return s.handle(now, x, out)
}

// handle does what a request of an open session asks, each by whose the method is.
func (s *state) handle(now time.Time, x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	switch x.Frame.M.Owner() {
	case protocol.OwnerCatalog:
		kind, _ := x.Frame.M.Lists()
		return s.list(x, kind, out)
	case protocol.OwnerServer:
		return s.dispatch(now, x, out)
	case protocol.OwnerTasks:
		return s.taskRequest(now, x, out)
	}
	switch x.Frame.M {
	case protocol.MethodLoggingSetLevel:
		return s.setLevel(x, out)
	case protocol.MethodResourcesSubscribe:
		return s.subscribe(x, out)
	case protocol.MethodResourcesUnsubscribe:
		return s.unsubscribe(x, out)
	}
	if server := s.onlyServer(); server != nil && x.Frame.M == protocol.MethodOther && s.view.Trusts(server) {
		return s.call(now, x, admission.Target{Server: server}, out) // a method of a later revision, or of the server's own
	}
	return s.fault(x, protocol.NoMethod(x.Frame.MethodText()), out)
}

// onlyServer is the server when there is just one in view: a method we do not know goes to it untouched, as nobody else can be meant.
func (s *state) onlyServer() *catalog.Server {
	if servers := s.view.Servers(); len(servers) == 1 {
		return servers[0]
	}
	return nil
}

// list answers from the snapshot. No server is asked, so a list comes at once, whatever the servers do.
func (s *state) list(x *downstream.Exchange, kind protocol.ItemKind, out []kernel.Effect) []kernel.Effect {
	cursor, ok := rawjson.Unquote(x.Params.Cursor.Of(x.Frame.Raw))
	if x.Params.Cursor.Present() && !ok {
		return s.fault(x, protocol.BadParams("params.cursor: want a string"), out)
	}
	page, fault := s.view.Page(kind, protocol.EraLegacy, cursor)
	if fault != nil {
		return s.fault(x, fault, out)
	}
	if cursor == "" {
		out = clientcalls.ListServed(s.view, kind, out)
	}
	return s.result(x, page, out)
}

// initialize opens the session. MCP 2025-11-25, basic/lifecycle.
func (s *state) initialize(now time.Time, x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	if s.initialized {
		return append(out, kernel.Act(refuse{x, 400, &protocol.Fault{Name: protocol.InvalidRequest, Message: "the session is initialized already"}}))
	}
	asked, ok := rawjson.Unquote(x.Params.Version.Of(x.Frame.Raw))
	if !ok {
		return s.unopened(x, protocol.BadParams("params.protocolVersion: want a string such as "+quote(protocol.LatestLegacy)), out)
	}
	peer := protocol.NodeOf(x.Frame.Raw, x.Params.Meta)
	if peer != "" && peer == s.node {
		return append(s.fault(x, admission.OwnServerFault(), out), kernel.StopSelf())
	}
	if s.viewGone {
		return s.noView(x, out)
	}
	if s.view == nil || s.awaitedServers > 0 {
		if s.earlyInitialize != nil {
			return append(out, kernel.Act(refuse{x, 400, &protocol.Fault{Name: protocol.InvalidRequest, Message: "initialize was sent already"}}))
		}
		s.earlyInitialize = x
		return s.serveWaiting(now, out)
	}
	s.initialized, s.path = true, x.Origin.Path
	s.version = protocol.Negotiate(asked)
	s.capabilities = slices.Clone(x.Params.Capabilities.Of(x.Frame.Raw))
	s.can, s.extras = message.CanOf(s.capabilities).In(s.version), message.ExtrasOf(s.capabilities)
	s.clientInfo = slices.Clone(x.Params.ClientInfo.Of(x.Frame.Raw))
	s.asks = nil
	s.client = admission.ClientName(s.clientInfo)
	s.toldGenerations = s.view.Generation
	out = s.result(x, s.initializeResult(peer != ""), out)
	return append(out, kernel.Log(slog.LevelInfo, "session opened", "client", s.client, "protocol", s.version, "transport", s.transport))
}

// unopened answers a request with an error of ours. Over HTTP, one that should have opened the session has not: the answer
// names no session, and the actor leaves, as nobody can ever use it.
func (s *state) unopened(x *downstream.Exchange, f *protocol.Fault, out []kernel.Effect) []kernel.Effect {
	if s.transport != "http" || s.initialized || s.earlyInitialize != nil {
		return s.fault(x, f, out)
	}
	return append(out, kernel.Act(refuse{x, 200, f}), kernel.StopSelf())
}

// announced are the capabilities that the gateway names to the client.
func (s *state) announced() []byte {
	b := admission.CapabilitiesFor(s.view, protocol.EraLegacy)
	if !s.offersTasks() {
		return b
	}
	return append([]byte(`{"tasks":{"cancel":{},"list":{},"requests":{"tools":{"call":{}}}},`), b[1:]...)
}

// initializeResult is what the gateway says of itself. It names what it has handlers for, whoever is there now, as servers
// come and go. Another gateway is told which one it is.
func (s *state) initializeResult(gateway bool) []byte {
	b := append([]byte(`{"protocolVersion":`), rawjson.Quote(s.version)...)
	b = append(append(b, `,"capabilities":`...), s.announced()...)
	b = append(append(b, `,"serverInfo":`...), s.view.ServerInfo()...)
	if instructions := s.view.Instructions(); instructions != "" {
		b = rawjson.AppendQuoted(append(b, `,"instructions":`...), instructions)
	}
	if gateway {
		b = admission.AppendNode(b, s.node)
	}
	return append(b, '}')
}

// maxLevels is how many logging/setLevel of a session may wait for the gateway; of more nobody waits.
const maxLevels = 16

// setLevel keeps the level below which this client wants no log lines. It is answered when the gateway has told the servers: who gets the answer may
// call at once, and hear all of it. MCP 2025-11-25, server/utilities/logging.
func (s *state) setLevel(x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	level := protocol.LevelOf(x.Params.Level.Of(x.Frame.Raw))
	if level == protocol.LevelNone {
		name, _ := rawjson.Unquote(x.Params.Level.Of(x.Frame.Raw))
		return s.fault(x, protocol.BadParams("params.level: got "+quote(name)+", want one of "+strings.Join(protocol.LevelNames(), " ")), out)
	}
	s.level = level
	if len(s.levels) >= maxLevels {
		return s.result(x, []byte("{}"), append(out, kernel.Tell(s.owner, message.SetSessionLevel{Session: s.self, Level: level})))
	}
	seq := s.calls.Next()
	put(&s.levels, seq, x)
	return append(out, kernel.Tell(s.owner, message.SetSessionLevel{Session: s.self, Level: level, Seq: seq}))
}

// levelWanted answers a logging/setLevel.
func (s *state) levelWanted(m message.SetSessionLevelResult, out []kernel.Effect) []kernel.Effect {
	x := s.levels[m.Seq]
	if x == nil {
		return out
	}
	delete(s.levels, m.Seq)
	return s.result(x, []byte("{}"), out)
}

// result answers a request with a result of ours. A large one is a page of a snapshot, which many sessions write.
func (*state) result(x *downstream.Exchange, result []byte, out []kernel.Effect) []kernel.Effect {
	if len(result) >= reply.LargeFrame {
		around := protocol.AppendResult(nil, x.Frame.IDBytes(), nil)
		end := len(around) - 1
		return append(out, kernel.Act(reply.AnswerPieces{X: x, Pieces: [][]byte{around[:end], result, around[end:]}}))
	}
	return append(out, kernel.Act(reply.Answer{X: x, Message: protocol.Message{Frame: protocol.AppendResult(nil, x.Frame.IDBytes(), result)}}))
}

// fault answers a request with an error of ours.
func (*state) fault(x *downstream.Exchange, f *protocol.Fault, out []kernel.Effect) []kernel.Effect {
	if f.Late != nil {
		return append(out, kernel.Act(reply.AnswerFault{X: x, Fault: f}))
	}
	return append(out, kernel.Act(reply.Answer{X: x, Message: protocol.Message{Frame: f.AppendTo(nil, x.Frame.IDBytes(), protocol.EraLegacy)}}))
}

func quote(s string) string { return string(rawjson.Quote(status.Printable(s, 100))) }

func shortID(id string) string { return id[:min(8, len(id))] }

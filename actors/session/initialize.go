package session

import (
	"log/slog"
	"slices"
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/kernel"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// initialize opens the session. MCP 2025-11-25, basic/lifecycle.
func (s *state) initialize(now time.Time, x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	if s.client.initialized {
		return append(out, kernel.Act(refuse{x, 400, &protocol.Fault{Name: protocol.InvalidRequest, Message: "the session is already initialized"}}))
	}
	asked, ok := rawjson.Unquote(x.Params.Version.Of(x.Frame.Raw))
	if !ok {
		return s.refuseOpening(x, protocol.BadParams("params.protocolVersion: want a string such as "+quote(protocol.LatestLegacy)), out)
	}
	peer := protocol.NodeOf(x.Frame.Raw, x.Params.Meta)
	if peer != "" && peer == s.node && s.principal.behalf == nil {
		return append(s.fault(x, admission.OwnServerFault(), out), kernel.StopSelf())
	}
	if s.catalog.gone {
		return s.refuseNoView(x, out)
	}
	if s.catalog.view == nil || s.client.awaitedServers > 0 {
		if s.client.earlyInitialize != nil {
			return append(out, kernel.Act(refuse{x, 400, &protocol.Fault{Name: protocol.InvalidRequest, Message: "initialize was already sent"}}))
		}
		s.client.earlyInitialize = x
		return s.serveWaiting(now, out)
	}
	if s.principal.behalf != nil {
		return s.initializeHop(x, out)
	}
	s.openFor(x, protocol.Negotiate(asked))
	out = s.result(x, s.initializeResult(peer != ""), out)
	return append(out, kernel.Log(slog.LevelInfo, "session opened", "client", s.client.name, "protocol", s.client.version, "transport", s.transport))
}

// openFor opens the session for the client that has sent initialize.
func (s *state) openFor(x *downstream.Exchange, version string) {
	s.client.initialized, s.client.path, s.client.version = true, x.Origin.Path, version
	s.client.declare(slices.Clone(x.Params.Capabilities.Of(x.Frame.Raw)), slices.Clone(x.Params.ClientInfo.Of(x.Frame.Raw)))
	s.catalog.announced = s.catalog.view.Generation
}

// refuseOpening answers a request with a gateway error. If it is an HTTP request that was to open the session, the
// answer contains no session id and the actor ends, because no client can ever use it.
func (s *state) refuseOpening(x *downstream.Exchange, f *protocol.Fault, out []kernel.Effect) []kernel.Effect {
	if s.transport != "http" || s.client.initialized || s.client.earlyInitialize != nil {
		return s.fault(x, f, out)
	}
	return append(out, kernel.Act(refuse{x, 200, f}), kernel.StopSelf())
}

// capabilities returns the capabilities that the gateway announces to the client.
func (s *state) capabilities() []byte {
	b := admission.CapabilitiesFor(s.catalog.view, protocol.EraLegacy)
	if !s.offersTasks() {
		return b
	}
	return append([]byte(`{"tasks":{"cancel":{},"list":{},"requests":{"tools":{"call":{}}}},`), b[1:]...)
}

// initializeResult describes the gateway. It announces the gateway's own capabilities whichever servers are connected
// now, because servers may be added and removed later. Extensions and tasks are announced only if a server in view
// offers them. If the client is another gateway, the result also contains this gateway's node name.
func (s *state) initializeResult(gateway bool) []byte {
	b := append([]byte(`{"protocolVersion":`), rawjson.Quote(s.client.version)...)
	b = append(append(b, `,"capabilities":`...), s.capabilities()...)
	b = append(append(b, `,"serverInfo":`...), s.catalog.view.ServerInfo()...)
	if instructions := s.catalog.view.Instructions(); instructions != "" {
		b = rawjson.AppendQuoted(append(b, `,"instructions":`...), instructions)
	}
	if gateway {
		b = admission.AppendNode(b, s.node)
	}
	return append(b, '}')
}

// serveWaiting answers the waiting initialize once there is a catalog and the awaited servers have settled.
func (s *state) serveWaiting(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.catalog.view == nil {
		return out
	}
	if admission.CountSettled(s.catalog.view) < s.client.awaitedServers {
		return out
	}
	s.client.awaitedServers = 0
	x := s.client.earlyInitialize
	if x == nil {
		return out
	}
	s.client.earlyInitialize = nil
	return s.initialize(now, x, out)
}

package session

import (
	"goblin-actor/actors/admission"
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// A session that another node of the cluster has opened carries the calls of the node's clients to one server of this node.
// Each request says for whom it is sent.

// callerOf returns the client of a request to a server. If another node sends it, that is the node's client. x is nil if there is
// no request.
func (s *state) callerOf(x *downstream.Exchange, server *catalog.Server) *message.Caller {
	behalf := s.principal.behalf
	if behalf == nil {
		return s.caller()
	}
	if x != nil {
		if of := x.Origin.Principal.Behalf(); of != nil {
			behalf = of
		}
	}
	c := *s.caller()
	c.Principal, c.Hop = message.PrincipalOf(behalf.Who), true
	if behalf.Client != "" && (server.Rules.Isolation != "session" || server.Rules.Run == config.RunEach) { // otherwise this session is the client's
		c.ClientKey = behalf.Client
	}
	return &c
}

// initializeHop answers the initialize of another node as the server itself would. If the node cannot use the server now, or
// not in this era, the session ends.
func (s *state) initializeHop(x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	server, why, later := admission.HopTarget(s.catalog.view, protocol.EraLegacy)
	switch {
	case later:
		return append(out, kernel.Act(refuseHop{x, why}), kernel.StopSelf())
	case server == nil:
		return s.refuseOpening(x, &protocol.Fault{Name: protocol.InvalidRequest, Message: why}, out)
	}
	s.openFor(x, server.Protocol)
	b := append([]byte(`{"protocolVersion":`), rawjson.Quote(s.client.version)...)
	b = append(append(b, `,"serverInfo":`...), s.catalog.view.ServerInfo()...)
	return s.result(x, append(admission.AppendHopResult(b, server), '}'), out)
}

// refuseHop refuses the initialize of another node. The text is for the node's operators.
type refuseHop struct {
	x   *downstream.Exchange
	why string
}

func (r refuseHop) refuse() { r.x.Refuse(503, []byte(r.why), 0) }

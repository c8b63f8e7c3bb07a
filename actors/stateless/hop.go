package stateless

import (
	"goblin-actor/actors/admission"
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/reply"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// discoverHop answers the server/discover of another node of the cluster as the server itself would.
func (*state) discoverHop(view *catalog.View, x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	server, why, later := admission.HopTarget(view, protocol.EraModern)
	switch {
	case later:
		return append(out, kernel.Act(relayError{x: x, status: 503, frame: []byte(why)}))
	case server == nil: // the node then sends initialize
		return append(out, kernel.Act(reply.Refuse{X: x, Fault: protocol.NoMethod(x.Frame.MethodText())}))
	}
	b := append([]byte(`{"supportedVersions":[`), rawjson.Quote(server.Protocol)...)
	b = admission.AppendHopResult(append(b, ']'), server)
	return result(view, x, append(b, '}'), out)
}

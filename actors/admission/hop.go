package admission

import (
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/message"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// A hop is a request of another node of the cluster for a server that runs on this node (`run: <node>`). The other node has
// decided what its client may see and do. So this node shows it the whole server under its own names.

// admitHop decides about a hop. Its path names the server. A hop is refused with 421 if its principal does not exist on this node:
// the other node then knows that the request was not executed.
func (e *Entrance) admitHop(o *downstream.Origin, behalf *identity.Behalf) (message.Admitted, *message.Refusal) {
	key, ok := keyOf(o.Path)
	if !ok || key.Server == "" {
		return message.Admitted{}, &message.Refusal{Status: 404, Fault: &protocol.Fault{Name: protocol.InvalidRequest,
			Message: "no such endpoint; nodes of the cluster use /s/<server>/mcp"}}
	}
	if behalf.Who != nil {
		if _, refusal := e.current(behalf.Who); refusal != nil {
			return message.Admitted{}, &message.Refusal{Status: 421, Fault: refusal.Fault}
		}
	}
	key = message.Narrowed(catalog.Key{Server: key.Server}, identity.Node)
	return message.Admitted{View: key, Who: identity.Node, Epoch: e.Epoch, Behalf: behalf}, nil
}

// HopTarget returns the server that a hop in this era can use. Otherwise it returns why it cannot, for the other node's
// operators. If that may change soon, the result later is true.
func HopTarget(view *catalog.View, era protocol.Era) (server *catalog.Server, why string, later bool) {
	servers := view.Servers()
	if len(servers) != 1 {
		return nil, "the view has no single server", true
	}
	server = servers[0]
	switch {
	case server.Rules.Hop != "":
		return nil, "server " + server.Name + " does not run on this node, which has run: " + server.Rules.Hop, true
	case server.Rules.Hops(): // the nodes reach the members of a group, not the group
		return nil, "server " + server.Name + " is a group with members on other nodes", true
	case server.Protocol == "":
		return nil, "server " + server.Name + " is not ready on its node", true
	case protocol.IsModern(server.Protocol) != (era == protocol.EraModern):
		return nil, "server " + server.Name + " speaks protocol version " + server.Protocol, false
	}
	return server, "", false
}

// AppendHopResult appends the members of the result of initialize or server/discover that describe the server of a hop as
// itself, so that the other node treats it like a server of its own.
func AppendHopResult(b []byte, server *catalog.Server) []byte {
	capabilities := server.Capabilities
	if len(capabilities) == 0 {
		capabilities = []byte("{}")
	}
	b = append(append(b, `,"capabilities":`...), capabilities...)
	if server.Instructions != "" {
		b = rawjson.AppendQuoted(append(b, `,"instructions":`...), server.Instructions)
	}
	return b
}

package clientcalls

import (
	"goblin-actor/actors/call"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// unknownToNode returns this gateway's fault in place of the refusal to read a resource by the node of the cluster that runs the server,
// because the text of that node contains the server's URI. It returns nil for all other effects.
func (h *Held) unknownToNode(e *call.Effect) *protocol.Fault {
	if e.Kind != call.Deliver || h.Method != protocol.MethodResourcesRead || h.Entry != nil || h.Upstream == nil || !h.Upstream.Rules.Hops() {
		return nil
	}
	f := &e.Frame
	if f.Kind != protocol.KindError {
		return nil
	}
	data := rawjson.Member(f.Raw, f.Error, "data")
	if name, _ := rawjson.Unquote(rawjson.Member(f.Raw, data, "code").Of(f.Raw)); name != string(protocol.ResourceNotFound) {
		return nil
	}
	return protocol.NoResource(h.Public)
}

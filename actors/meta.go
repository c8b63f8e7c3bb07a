package actors

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/meta"
	"goblin-actor/protocol"
)

// metaBegun tells the registry of the gateway's own tools. Whether clients see them is for the naming to say, so that a reload
// that switches them on or off starts and ends nothing.
func (s *state) metaBegun(ref kernel.Reference, out []kernel.Effect) []kernel.Effect {
	s.meta = ref
	if ref.IsZero() { // the gateway is going
		return out
	}
	return append(out,
		kernel.Tell(s.registry, message.SetServerRules{Server: meta.Server(ref)}),
		kernel.Tell(s.registry, message.ServerCatalog{Server: meta.Name, Kind: protocol.Tools, Items: meta.Tools()}))
}

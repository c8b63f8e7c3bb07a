package session

import (
	"maps"
	"slices"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// noteTenant records a pool that has connections of this client alone, which end with it. A legacy client sets its log level
// once, and these connections need it.
func (s *state) noteTenant(of *message.Tenant, server string, pool kernel.Reference) {
	if of == nil || of.Client == "" {
		return
	}
	of.Level = s.client.level
	if s.tenantOf == nil {
		s.tenantOf = map[string]kernel.Reference{}
	}
	s.tenantOf[server] = pool
}

// ownerOf returns on whose connections to a server a request subscribes, or the client without a request (x is nil).
func (s *state) ownerOf(server *catalog.Server, x *downstream.Exchange) *message.ConnectionOwner {
	own := clientsubs.OwnerOf(&server.Rules, x, s.caller(), protocol.EraLegacy)
	s.noteTenant(own.Of(), server.Name, server.Pool)
	return s.subs.owners.Intern(server.Name, own)
}

// tellClientGone tells the pools with connections of this client that it has gone.
func (s *state) tellClientGone(out []kernel.Effect) []kernel.Effect {
	for _, name := range slices.Sorted(maps.Keys(s.tenantOf)) {
		out = append(out, kernel.Tell(s.tenantOf[name], message.ClientGone{Client: s.id}))
	}
	return out
}

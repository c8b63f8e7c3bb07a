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

// noteTenant records a pool that has connections for this client alone, so that they can be closed when the client has
// left. It also sets their log level, because a legacy client sets its level only once.
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

// ownerOf returns the owner of the connections on which the client subscribes at a server. x is the request, or nil if there is
// none.
func (s *state) ownerOf(server *catalog.Server, x *downstream.Exchange) *message.ConnectionOwner {
	own := clientsubs.OwnerOf(&server.Rules, x, s.callerOf(x, server), protocol.EraLegacy)
	s.noteTenant(own.Of(), server.Name, server.Pool)
	return s.subs.owners.Intern(server.Name, own)
}

// tellClientGone tells the pools with connections for this client alone that the client has left.
func (s *state) tellClientGone(out []kernel.Effect) []kernel.Effect {
	for _, name := range slices.Sorted(maps.Keys(s.tenantOf)) {
		out = append(out, kernel.Tell(s.tenantOf[name], message.ClientGone{Client: s.id}))
	}
	return out
}

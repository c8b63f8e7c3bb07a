package session

import (
	"maps"
	"slices"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// noteTenant notes where this client has connections of its own, which end with it. A legacy client sets its log level once, and they
// have to know it.
func (s *state) noteTenant(r *message.Request, pool kernel.Reference) {
	if r.Tenant == nil || r.Tenant.Client == "" {
		return
	}
	r.Tenant.Level = s.level
	if s.tenantOf == nil {
		s.tenantOf = map[string]kernel.Reference{}
	}
	s.tenantOf[r.Server] = pool
}

// leaveTenancies says that the client has gone.
func (s *state) leaveTenancies(out []kernel.Effect) []kernel.Effect {
	for _, name := range slices.Sorted(maps.Keys(s.tenantOf)) {
		out = append(out, kernel.Tell(s.tenantOf[name], message.ClientGone{Client: s.id}))
	}
	return out
}

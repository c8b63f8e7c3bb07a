package actors

import (
	"goblin-actor/actors/admission"
	"goblin-actor/actors/message"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/policy"
)

// admitTo sets the projects that requests may name.
func (g *Gateway) admitTo(projects []string) {
	known := make(map[string]bool, len(projects))
	for _, name := range projects {
		known[name] = true
	}
	g.changeEntrance(func(e *admission.Entrance) { e.Projects = known })
}

// admitLocal sets the policy and the rights of clients without authentication.
func (g *Gateway) admitLocal(p *policy.Policy) {
	g.changeEntrance(setLocal(p))
}

// setLocal returns a change that sets the policy and the local principal's rights under it.
func setLocal(p *policy.Policy) func(*admission.Entrance) {
	rights := p.Rights(nil, "", true)
	who := *identity.Local
	who.Rights, who.Policy, who.Admin = rights, p, p.Admin(rights, true)
	return func(e *admission.Entrance) { e.Policy, e.Local = p, &who }
}

// changeEntrance replaces the entrance with a copy modified by f, and returns the copy.
func (g *Gateway) changeEntrance(f func(*admission.Entrance)) *admission.Entrance {
	for {
		old := g.entrance.Load()
		next := *old
		if f(&next); g.entrance.CompareAndSwap(old, &next) {
			return &next
		}
	}
}

// LoadPrincipals adds the principals that exist at the start. It must be called before the first authenticated
// request: from then on, a principal exists only if it was passed to LoadPrincipals, AddPrincipals or
// UpdatePrincipals. Logins in the state file that belong to an earlier credential of the same ID are ended.
func (g *Gateway) LoadPrincipals(all map[string]*identity.Principal) { g.applyPrincipals(all) }

// UpdatePrincipals applies changes to principals. The map changed has the newest value of each changed principal by ID, or
// nil for one that no longer exists. The changes apply to every later request. The sessions and streams of a principal that
// no longer exists are closed, its calls are canceled and answered, and its connections and logins are ended. A principal
// whose credential was replaced counts as one that no longer exists. The views of the other changed principals are updated
// at once. UpdatePrincipals may be called from any goroutine and does not wait for these effects.
func (g *Gateway) UpdatePrincipals(changed map[string]*identity.Principal) {
	g.recordPrincipals("changed", changed)
	g.applyPrincipals(changed)
}

// AddPrincipals adds new principals. It must be called before their first request is admitted.
func (g *Gateway) AddPrincipals(added map[string]*identity.Principal) {
	g.recordPrincipals("new", added)
	g.applyPrincipals(added)
}

// applyPrincipals applies changes, sends the result to the gateway actor, and ends the logins of principals that no longer exist.
func (g *Gateway) applyPrincipals(changed map[string]*identity.Principal) {
	var gone map[string]bool
	g.changePrincipals(func(e *admission.Entrance) { e.Newest, gone = updatePrincipals(e.Newest, changed) })
	if len(gone) > 0 {
		g.self.Tell(message.EndLogins{Who: gone})
	}
}

// changePrincipals applies a change and sends the result to the gateway actor. Concurrent changes are sent in the order in
// which they are applied: each message holds all principals, and an older one must not replace a newer one.
func (g *Gateway) changePrincipals(change func(*admission.Entrance)) {
	g.principalsMu.Lock()
	defer g.principalsMu.Unlock()
	e := g.changeEntrance(func(e *admission.Entrance) {
		change(e)
		e.Epoch++
	})
	g.self.Tell(message.Principals{Newest: e.Newest, Local: e.Local, Epoch: e.Epoch})
}

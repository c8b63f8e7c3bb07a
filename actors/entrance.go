package actors

import (
	"goblin-actor/actors/admission"
	"goblin-actor/actors/message"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/policy"
)

// admitTo sets the projects that clients may name.
func (g *Gateway) admitTo(projects []string) {
	known := make(map[string]bool, len(projects))
	for _, name := range projects {
		known[name] = true
	}
	g.change(func(e *admission.Entrance) { e.Projects = known })
}

// admitLocal sets the policy and the rights of clients without authentication.
func (g *Gateway) admitLocal(p *policy.Policy) {
	g.change(localUnder(p))
}

// localUnder returns the change that sets the policy and the local principal's rights under it.
func localUnder(p *policy.Policy) func(*admission.Entrance) {
	rights := p.Rights(nil, "", true)
	who := *identity.Local
	who.Rights, who.Policy, who.Admin = rights, p, p.Admin(rights, true)
	return func(e *admission.Entrance) { e.Policy, e.Local = p, &who }
}

// change replaces the entrance with a copy modified by f, and returns the copy.
func (g *Gateway) change(f func(*admission.Entrance)) *admission.Entrance {
	for {
		old := g.entrance.Load()
		next := *old
		if f(&next); g.entrance.CompareAndSwap(old, &next) {
			return &next
		}
	}
}

// KnownPrincipals sets the principals that exist at the start. It must be called before the first authenticated request:
// from then on a principal exists only if it was passed to KnownPrincipals or NewPrincipals. Logins in the state file
// that belong to an earlier credential of the same ID are ended.
func (g *Gateway) KnownPrincipals(all map[string]*identity.Principal) { g.principals(all) }

// Principals applies changes of principals: by ID the newest value of each that has changed, or nil for one that no
// longer exists. The changes apply to every request from now on. Sessions and streams of a principal that no longer
// exists are closed, its calls are canceled and answered, and its connections and logins are ended. Other principals see
// at once what they may see now. Principals may be called from any goroutine and does not wait for the effects.
func (g *Gateway) Principals(changed map[string]*identity.Principal) {
	g.recordPrincipals("changed", changed)
	g.principals(changed)
}

// NewPrincipals is Principals for principals that are new. It must be called before their first request is admitted.
func (g *Gateway) NewPrincipals(come map[string]*identity.Principal) {
	g.recordPrincipals("new", come)
	g.principals(come)
}

// principals applies changes and sends them to the gateway actor.
func (g *Gateway) principals(changed map[string]*identity.Principal) {
	var gone map[string]bool
	g.tellPrincipals(func(e *admission.Entrance) { e.Newest, gone = updatePrincipals(e.Newest, changed) })
	if len(gone) > 0 {
		g.self.Tell(message.EndLogins{Who: gone})
	}
}

// tellPrincipals applies a change and sends it to the gateway actor. Concurrent changes are sent in the order they are
// applied: a message holds all principals, and an older one must not replace a newer one.
func (g *Gateway) tellPrincipals(change func(*admission.Entrance)) {
	g.telling.Lock()
	defer g.telling.Unlock()
	e := g.change(func(e *admission.Entrance) {
		change(e)
		e.Epoch++
	})
	g.self.Tell(message.Principals{Newest: e.Newest, Local: e.Local, Epoch: e.Epoch})
}

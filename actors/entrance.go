package actors

import (
	"goblin-actor/actors/admission"
	"goblin-actor/actors/message"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/policy"
)

// admitTo makes these the projects that clients may name.
func (g *Gateway) admitTo(projects []string) {
	known := make(map[string]bool, len(projects))
	for _, name := range projects {
		known[name] = true
	}
	g.change(func(e *admission.Entrance) { e.Projects = known })
}

// admitLocal takes the policy, and gives whoever is not asked who he is what it says of him.
func (g *Gateway) admitLocal(p *policy.Policy) {
	g.change(localUnder(p))
}

// localUnder is that change.
func localUnder(p *policy.Policy) func(*admission.Entrance) {
	rights := p.Rights(nil, "", true)
	who := *identity.Local
	who.Rights, who.Policy, who.Admin = rights, p, p.Admin(rights, true)
	return func(e *admission.Entrance) { e.Policy, e.Local = p, &who }
}

// change replaces what admit knows by what f makes of a copy, and returns it.
func (g *Gateway) change(f func(*admission.Entrance)) *admission.Entrance {
	for {
		old := g.entrance.Load()
		next := *old
		if f(&next); g.entrance.CompareAndSwap(old, &next) {
			return &next
		}
	}
}

// KnownPrincipals is Principals of those who were there before the gateway was. It has to be called before anybody comes who is asked who he is: from
// then on everybody is nobody who is not among them, and has not come by NewPrincipals. Logins end that an earlier credential of the same id has left
// in the state file.
func (g *Gateway) KnownPrincipals(all map[string]*identity.Principal) { g.principals(all) }

// Principals says what has become of principals: by id the newest value of each that has changed; nil = it is nobody any more. It
// counts for every request from now on. Sessions and streams of who is nobody any more end, its calls are cancelled and answered, and the
// connections and logins of its own end; others see at once what they may see now. Safe from any goroutine; it does not wait for that.
func (g *Gateway) Principals(changed map[string]*identity.Principal) {
	g.recordPrincipals("changed", changed)
	g.principals(changed)
}

// NewPrincipals is Principals of those who have just come. They are told of before they are let in.
func (g *Gateway) NewPrincipals(come map[string]*identity.Principal) {
	g.recordPrincipals("new", come)
	g.principals(come)
}

// principals lets changes count, and tells the actor.
func (g *Gateway) principals(changed map[string]*identity.Principal) {
	var gone map[string]bool
	g.tellPrincipals(func(e *admission.Entrance) { e.Newest, gone = updatePrincipals(e.Newest, changed) })
	if len(gone) > 0 {
		g.self.Tell(message.EndLogins{Who: gone})
	}
}

// tellPrincipals lets a change count, and tells the actor. Of two changes at once the one that counts first is told first: a message holds all
// that there is, and must not take the place of a newer one.
func (g *Gateway) tellPrincipals(change func(*admission.Entrance)) {
	g.telling.Lock()
	defer g.telling.Unlock()
	e := g.change(func(e *admission.Entrance) {
		change(e)
		e.Epoch++
	})
	g.self.Tell(message.Principals{Newest: e.Newest, Local: e.Local, Epoch: e.Epoch})
}

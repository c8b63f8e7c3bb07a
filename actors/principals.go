package actors

import (
	"maps"
	"slices"

	"goblin-actor/actors/edge"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/policy"
)

// serverLog passes a line that belongs to no call on to the sessions of whose connection it came from. What a connection for everybody says may be
// about anybody's calls: where clients are asked who they are it is only for those who are not, on stdin or in the same program.
func (s *state) serverLog(m message.ServerLog, out []kernel.Effect) []kernel.Effect {
	for _, ref := range s.sessions.All() {
		of := s.owners.of[ref]
		forAll := m.Principal == "" && !(s.config.Auth.On() && of.asked)
		if forAll || m.Principal != "" && of == (owner{m.Principal, true}) {
			out = append(out, kernel.Tell(ref, m))
		}
	}
	return out
}

// goneWith notes who is nobody any more with the changes of that number. A later change may give the id to somebody else before an actor hears of
// this one.
func goneWith(before map[string]uint64, changed map[string]*identity.Principal, epoch uint64) map[string]uint64 {
	gone := make(map[string]uint64, len(before)+len(changed))
	maps.Copy(gone, before)
	for id, who := range changed {
		if who == nil {
			gone[id] = epoch
		}
	}
	return gone
}

// principals tells everybody who holds something for principals what has become of them. Clients that wait for room are settled when they get
// it.
func (s *state) principals(m message.Principals, out []kernel.Effect) []kernel.Effect {
	s.changed = m
	for _, ref := range s.sessions.All() {
		out = append(out, kernel.Tell(ref, m))
	}
	for _, desk := range s.desks {
		out = append(out, kernel.Tell(desk, m))
	}
	for _, name := range slices.Sorted(maps.Keys(s.pools)) {
		out = append(out, kernel.Tell(s.pools[name], m))
	}
	return out
}

// tellChanged tells somebody who was spawned meanwhile.
func (s *state) tellChanged(who kernel.Reference, out []kernel.Effect) []kernel.Effect {
	if s.changed.Epoch > 0 {
		out = append(out, kernel.Tell(who, s.changed))
	}
	return out
}

// admitTo makes these the projects that clients may name.
func (g *Gateway) admitTo(projects []string) {
	known := make(map[string]bool, len(projects))
	for _, name := range projects {
		known[name] = true
	}
	g.change(func(e *edge.Entrance) { e.Projects = known })
}

// admitLocal takes the policy, gives whoever is not asked who he is what it says of him, and returns that.
func (g *Gateway) admitLocal(p *policy.Policy) *identity.Principal {
	rights := p.Rights(nil, "", true)
	who := *identity.Local
	who.Rights, who.Admin = rights, p.Admin(rights, true)
	g.change(func(e *edge.Entrance) { e.Policy, e.Local = p, &who })
	return &who
}

// change replaces what admit knows by what f makes of a copy, and returns it.
func (g *Gateway) change(f func(*edge.Entrance)) *edge.Entrance {
	for {
		old := g.entrance.Load()
		next := *old
		if f(&next); g.entrance.CompareAndSwap(old, &next) {
			return &next
		}
	}
}

// Principals says what has become of principals: by id the newest value of each that has come, or has changed; nil = it is nobody any more. It
// counts for every request from now on. Sessions and streams of who is nobody any more end, its calls are cancelled and answered, and the
// connections and logins of its own end; others see at once what they may see now. Safe from any goroutine; it does not wait for that.
func (g *Gateway) Principals(changed map[string]*identity.Principal) {
	g.recordPrincipals("changed", changed)
	g.principals(changed)
}

// NewPrincipals is Principals of those who have just come.
func (g *Gateway) NewPrincipals(come map[string]*identity.Principal) {
	g.recordPrincipals("new", come)
	g.principals(come)
}

// principals lets changes count, and tells the actor. Of two changes at once the one that counts first is told first: a message holds all changes, and
// must not take the place of one that holds more.
func (g *Gateway) principals(changed map[string]*identity.Principal) {
	g.telling.Lock()
	defer g.telling.Unlock()
	e := g.change(func(e *edge.Entrance) {
		newest := make(map[string]*identity.Principal, len(e.Newest)+len(changed))
		maps.Copy(newest, e.Newest)
		maps.Copy(newest, changed)
		e.Newest, e.Gone, e.Epoch = newest, goneWith(e.Gone, changed, e.Epoch+1), e.Epoch+1
	})
	g.self.Tell(message.Principals{Newest: e.Newest, Gone: e.Gone, Epoch: e.Epoch})
	if gone := nobodyAnyMore(changed); len(gone) > 0 {
		g.self.Tell(message.EndLogins{Who: gone})
	}
}

package actors

import (
	"maps"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/identity"
)

// principals holds the principals that exist, and ends the logins of those that no longer exist.
type principals struct {
	current message.Principals
	ready   bool            // the servers have been started, so the remembered logins are known
	ended   map[string]bool // holders whose logins are to be ended once ready is true
}

// set replaces the principals. The first set of authenticated principals also ends the logins that belong to earlier credentials,
// unless serversStarted has yet to run, which then ends them.
func (p *principals) set(m message.Principals, out []kernel.Effect) []kernel.Effect {
	first := p.current.Newest == nil
	if p.current = m; first && p.ready {
		out = p.endInherited(out)
	}
	return out
}

// catchUp sends the current principals to a new actor, because they may have changed while it was spawned.
func (p *principals) catchUp(ref kernel.Reference, out []kernel.Effect) []kernel.Effect {
	if p.current.Epoch > 0 {
		out = append(out, kernel.Tell(ref, p.current))
	}
	return out
}

// serversStarted ends the logins that belong to earlier credentials, and those whose end was requested before the servers were
// started.
func (p *principals) serversStarted(out []kernel.Effect) []kernel.Effect {
	if p.ready = true; p.current.Newest != nil {
		out = p.endInherited(out)
	}
	if p.ended != nil {
		out = append(out, kernel.Act(findLogins{p.ended}))
		p.ended = nil
	}
	return out
}

// endInherited ends the logins in the state file that belong to an earlier credential of an existing principal: its key
// was replaced while the gateway was not running. Logins of unknown IDs stay, because they may belong to another
// gateway.
func (p *principals) endInherited(out []kernel.Effect) []kernel.Effect {
	return append(out, kernel.Act(findInherited{p.current.Newest}))
}

// postpone records holders whose logins end once the servers have been started.
func (p *principals) postpone(who map[string]bool) {
	if p.ended == nil {
		p.ended = map[string]bool{}
	}
	maps.Copy(p.ended, who)
}

// setPrincipals passes the new principals on to every actor that holds state of principals. If only the local principal has changed
// and its rights are held back (see admitLocalLater), setPrincipals passes nothing on. Clients that wait for a session are checked
// again when they get one.
func (s *state) setPrincipals(m message.Principals, out []kernel.Effect) []kernel.Effect {
	onlyLocal := maps.Equal(m.Newest, s.principals.current.Newest)
	out = s.principals.set(m, out)
	if onlyLocal && s.reloads.localRights != 0 {
		return out
	}
	return s.sendPrincipals(out)
}

// admitLocalLater holds the local clients' new rights back until the registry has published the catalog without a policy. Until
// then sessions show what the old policy permits. Without a working registry, the rights are not held back.
func (s *state) admitLocalLater(out []kernel.Effect) []kernel.Effect {
	if s.registry.IsZero() || s.reloads.registryFailed {
		return out
	}
	s.reloads.lastWaiter++
	s.reloads.localRights = s.reloads.lastWaiter
	return append(out, kernel.Tell(s.registry, message.Confirm{From: s.self, Key: s.reloads.localRights}))
}

// sendLocalRights sends the rights that admitLocalLater has held back.
func (s *state) sendLocalRights(out []kernel.Effect) []kernel.Effect {
	s.reloads.localRights = 0
	return s.sendPrincipals(out)
}

func (s *state) sendPrincipals(out []kernel.Effect) []kernel.Effect {
	m := s.principals.current
	return s.servers.tell(m, s.stateless.tell(m, s.sessions.tell(m, out)))
}

// updatePrincipals returns the principals after a change, and the holders that no longer exist. The map changed has the
// newest value of each changed principal by ID, nil for one that no longer exists. An ID has one holder at a time.
func updatePrincipals(before, changed map[string]*identity.Principal) (newest map[string]*identity.Principal, gone map[string]bool) {
	newest, gone = make(map[string]*identity.Principal, len(before)+len(changed)), map[string]bool{}
	for holder, who := range before {
		if now, is := changed[who.ID]; !is {
			newest[holder] = who
		} else if now == nil || !identity.Same(now, who) {
			gone[holder] = true
		}
	}
	for _, who := range changed {
		if who != nil {
			newest[identity.HolderOf(who)] = who
		}
	}
	return newest, gone
}

package message

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
)

// Principals tells everybody what has become of principals since the start: those who hold something of one that is nobody any more let go of
// it, those of one with other rights show it what it may see now. It holds all changes, so that a newer one replaces one that still waits.
type Principals struct {
	Newest map[string]*identity.Principal // by id; nil = it is nobody any more. Nobody writes to it
	Gone   map[string]uint64              // by id: the change by which it was last nobody any more, whoever has the id now. Nobody writes to it
	Epoch  uint64                         // counts the changes: what was admitted with an older one may not know them
}

func (Principals) Class() kernel.Class { return kernel.State }

// Key: the newest holds all.
func (Principals) Key() any { return principalsKey{} }

type principalsKey struct{}

// Of is the newest value of a principal; false when it is nobody any more, also where somebody else has its id now: a key's name has a new key.
func (p *Principals) Of(who *identity.Principal) (*identity.Principal, bool) {
	if newest, changed := p.Newest[identity.IDOf(who)]; changed {
		return newest, newest != nil && identity.Same(newest, who)
	}
	return who, true
}

// Settle has what was admitted before the changes see what they let its principal see; the fault is why it may not see anything any more.
func (p *Principals) Settle(a *Admitted) *protocol.Fault {
	if a.Epoch >= p.Epoch {
		return nil
	}
	newest, ok := p.Of(a.Who)
	if !ok {
		return Revoked
	}
	a.Who, a.Epoch = newest, p.Epoch
	a.View = Narrowed(a.View, newest)
	if a.View.Project != "" && !newest.May(a.View.Project) {
		return protocol.NoProject(a.View.Project)
	}
	return nil
}

// Revoked is what is told to who is nobody any more. Nobody writes to it.
var Revoked = &protocol.Fault{Name: protocol.Unauthenticated, Message: "the credential of this client counts no more"}

// Revoked reports whether who had that id, as PrincipalOf gives it, when the change known was the newest is nobody any more.
func (p *Principals) Revoked(id string, known uint64) bool {
	newest, changed := p.Newest[id]
	return id != "" && (changed && newest == nil || p.Gone[id] > known)
}

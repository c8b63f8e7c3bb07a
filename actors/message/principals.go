package message

import (
	"cmp"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
)

// Principals tells everybody who there is: those who hold something of one that is nobody any more let go of it, those of one with other rights
// show it what it may see now. It holds all of them, so that a newer one replaces one that still waits, and nothing is kept of who has gone.
type Principals struct {
	Newest map[string]*identity.Principal // by PrincipalOf: all that there are; nil = nobody has said who there is. Nobody writes to it
	Local  *identity.Principal            // newest value of whoever is not asked who he is; nil = it has not changed
	Epoch  uint64                         // counts the changes: what was admitted with an older one may not know them
}

func (Principals) Class() kernel.Class { return kernel.State }

// Key: the newest holds all.
func (Principals) Key() any { return principalsKey{} }

type principalsKey struct{}

// Of is the newest value of a principal; false when it is nobody any more, also where somebody else has its id now: a key's name has a new key.
func (p *Principals) Of(who *identity.Principal) (*identity.Principal, bool) {
	switch holder := PrincipalOf(who); {
	case holder == "":
		return cmp.Or(p.Local, who), true
	case p.Newest == nil:
		return who, true
	default:
		newest := p.Newest[holder]
		return newest, newest != nil
	}
}

// Settle has what was admitted before the changes see what they let its principal see; the fault is why it may not see anything any more.
func (p *Principals) Readmit(a *Admitted) *protocol.Fault {
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

// Revoked reports whether who had that name, as PrincipalOf gives it, is nobody any more. Somebody who came since, with a newer epoch, is unknown here.
func (p *Principals) Revoked(principal string, epoch uint64) bool {
	return principal != "" && p.Newest != nil && p.Newest[principal] == nil && epoch < p.Epoch
}

package message

import (
	"cmp"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
)

// Principals tells actors which principals exist and what they may see. Actors end everything that belongs to a principal that no
// longer exists, and update the views of the others. Each message holds all principals, so a newer one replaces an older one
// that is still queued.
type Principals struct {
	Newest map[string]*identity.Principal // all principals, by PrincipalOf; nil = not known yet. Immutable
	Local  *identity.Principal            // the newest value for clients that are not authenticated; nil = unchanged
	Epoch  uint64                         // number of changes; a request admitted with an older epoch may not know the newest
}

func (Principals) Class() kernel.Class { return kernel.State }

// Key implements kernel.Keyed: only the newest message is kept.
func (Principals) Key() any { return principalsKey{} }

type principalsKey struct{}

// Of returns the newest value of a principal. It returns false if the principal no longer exists, even if another one now has
// its name, such as a new key named like a revoked one.
func (p *Principals) Of(who *identity.Principal) (*identity.Principal, bool) {
	switch holder := PrincipalOf(who); {
	case identity.IDOf(who) == identity.NodeID:
		return who, true
	case holder == "":
		return cmp.Or(p.Local, who), true
	case p.Newest == nil:
		return who, true
	default:
		newest := p.Newest[holder]
		return newest, newest != nil
	}
}

// Readmit updates a request that was admitted before the latest changes. The fault says why its principal no longer has access.
func (p *Principals) Readmit(a *Admitted) *protocol.Fault {
	if a.Epoch >= p.Epoch {
		return nil
	}
	newest, ok := p.Of(a.Who)
	if !ok {
		return Revoked
	}
	if a.Behalf != nil {
		if _, ok := p.Of(a.Behalf.Who); !ok {
			return Revoked
		}
	}
	a.Who, a.Epoch = newest, p.Epoch
	a.View = Narrowed(a.View, newest)
	if a.View.Project != "" && !newest.May(a.View.Project) {
		return protocol.NoProject(a.View.Project)
	}
	return nil
}

// Revoked is the error for a principal that no longer exists. Immutable.
var Revoked = &protocol.Fault{Name: protocol.Unauthenticated, Message: "the credential of this client has been revoked"}

// Revoked reports whether the principal with that holder (PrincipalOf) no longer exists. A principal that is unknown here
// because it is newer than p is not revoked.
func (p *Principals) Revoked(principal string, epoch uint64) bool {
	return principal != "" && p.Newest != nil && p.Newest[principal] == nil && epoch < p.Epoch
}

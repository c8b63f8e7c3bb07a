package clientsubs

import (
	"slices"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// maxOwns is how many tenants of a client are known at once. A server has few connections for them.
const maxOwners = 64

// Owns keeps one value for all subscriptions of a client on the same connections: a client may have ten thousand, and what its headers
// said is long. The zero Owns is empty.
type Owners struct {
	known map[ownKey]*message.ConnectionOwner
}

type ownKey struct{ server, tenant string }

// Once returns the known value that says the same of a server, or notes this one. Neither is written to from now on.
func (o *Owners) Intern(server string, own *message.ConnectionOwner) *message.ConnectionOwner {
	if own == nil {
		return nil
	}
	key := ownKey{server, own.Key}
	if known := o.known[key]; known != nil && known.Can == own.Can && known.Level == own.Level && known.Isolation == own.Isolation && slices.Equal(known.Forwarded, own.Forwarded) {
		return known
	}
	if len(o.known) >= maxOwners {
		clear(o.known)
	}
	if o.known == nil {
		o.known = map[ownKey]*message.ConnectionOwner{}
	}
	o.known[key] = own
	return own
}

// OwnOf is on whose connections to a server a request subscribes, or a client without one (x is nil); nil = those that are for everybody.
func OwnerOf(rules *config.Server, x *downstream.Exchange, caller *message.Caller, era protocol.Era) *message.ConnectionOwner {
	t := admission.TenantOf(rules, x, caller)
	if t == nil {
		return nil
	}
	return &message.ConnectionOwner{Tenant: t, Can: caller.Can, Modern: era == protocol.EraModern}
}

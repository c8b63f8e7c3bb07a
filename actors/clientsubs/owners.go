package clientsubs

import (
	"goblin-actor/actors/admission"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// maxOwners is how many owners a client's subscriptions may have at once. A server has few connections for them.
const maxOwners = 64

// Owners shares one value among all subscriptions of a client on the same connections: a client may have ten thousand, and the
// headers in an owner are long. The zero Owners is empty.
type Owners struct {
	known map[ownKey]*message.ConnectionOwner
}

type ownKey struct{ server, tenant string }

// Intern returns the known value that equals own for the server, or notes own. Neither may be modified from now on.
func (o *Owners) Intern(server string, own *message.ConnectionOwner) *message.ConnectionOwner {
	if own == nil {
		return nil
	}
	key := ownKey{server, own.Key}
	if known := o.known[key]; known != nil && known.Equal(own) {
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

// OwnerOf returns on whose connections to a server a request subscribes, or a client without a request (x is nil); nil = the
// shared ones.
func OwnerOf(rules *config.Server, x *downstream.Exchange, caller *message.Caller, era protocol.Era) *message.ConnectionOwner {
	t := admission.TenantOf(rules, x, caller)
	if t == nil {
		return nil
	}
	return &message.ConnectionOwner{Tenant: t, Can: caller.Can, Modern: era == protocol.EraModern}
}

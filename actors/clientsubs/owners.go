package clientsubs

import (
	"goblin-actor/actors/admission"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// maxOwners is the maximum number of values in an Owners. When it is reached, all are forgotten, and later
// subscriptions share new values.
const maxOwners = 64

// Owners lets all subscriptions of a client on the same connections share one value: a client may have ten thousand subscriptions,
// and the headers in an owner can be long. The zero Owners is empty.
type Owners struct {
	known map[ownKey]*message.ConnectionOwner
}

type ownKey struct{ server, tenant string }

// Intern returns the stored value that equals own for the server. If there is none, it stores and returns own. Neither may be
// modified from now on.
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

// OwnerOf returns the owner of the connections on which a request subscribes at a server; nil = they are shared. Without a request, x
// is nil.
func OwnerOf(rules *config.Server, x *downstream.Exchange, caller *message.Caller, era protocol.Era) *message.ConnectionOwner {
	t := admission.TenantOf(rules, x, caller)
	if t == nil {
		return nil
	}
	return &message.ConnectionOwner{Tenant: t, Can: caller.Can, Modern: era == protocol.EraModern}
}

package clientcalls

import (
	"goblin-actor/actors/message"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol/downstream"
)

// Requester identifies a request as its client does. Requests of several principals may arrive on one connection, from a proxy.
type Requester struct{ Principal, Remote, ID string }

// RequestOf returns the requester of an exchange.
func RequestOf(x *downstream.Exchange, who *identity.Principal) Requester {
	return Requester{message.PrincipalOf(who), x.Origin.Remote, string(x.Frame.IDBytes())}
}

// RequesterOf returns the requester of the request that a client cancels.
func RequesterOf(m message.CancelStateless) Requester {
	return Requester{m.Principal, m.Remote, m.RequestID}
}

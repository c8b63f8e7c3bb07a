package clientcalls

import (
	"goblin-actor/actors/message"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol/downstream"
)

// Requester identifies a request of a client. A connection from a proxy may carry requests of several principals.
type Requester struct{ Principal, Remote, ID string }

// RequestOf returns the requester of an exchange.
func RequestOf(x *downstream.Exchange, who *identity.Principal) Requester {
	return Requester{message.PrincipalOf(who), x.Origin.Remote, string(x.Frame.IDBytes())}
}

// RequesterOf returns the requester of the request that the client cancels.
func RequesterOf(m message.CancelStateless) Requester {
	return Requester{m.Principal, m.Remote, m.RequestID}
}

package clientcalls

import (
	"goblin-actor/actors/message"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol/downstream"
)

// Requester names a request as its client does. Requests of several principals may come on one connection, from a proxy.
type Requester struct{ Principal, Remote, ID string }

// RequestOf names the request of an exchange.
func RequestOf(x *downstream.Exchange, who *identity.Principal) Requester {
	return Requester{message.PrincipalOf(who), x.Origin.Remote, string(x.Frame.IDBytes())}
}

// RequesterOf names the request that a client takes back.
func RequesterOf(m message.CancelStateless) Requester {
	return Requester{m.Principal, m.Remote, m.RequestID}
}

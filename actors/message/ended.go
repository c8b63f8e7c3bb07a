package message

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/cluster"
	"goblin-actor/protocol/downstream"
)

// RememberEnded tells the gateway that a session of the cluster has ended: no node opens it again.
type RememberEnded struct {
	ID      string
	Deleted bool // its client or an operator has ended it
}

// Class is Outcome: each session sends one.
func (RememberEnded) Class() kernel.Class { return kernel.Outcome }

// RememberAllEnded is a page of the sessions that clients or operators have ended, as far as another node knows.
type RememberAllEnded struct{ List []cluster.EndedSession }

// Class is Outcome: it answers a request of this node.
func (RememberAllEnded) Class() kernel.Class { return kernel.Outcome }

// ListEnded asks the gateway for the ended sessions that follow a page, for another node. Reply does not block. It is not called if the
// gateway cannot answer.
type ListEnded struct {
	After string // "" = the first page
	Reply func(list []cluster.EndedSession, next string)
}

// AskEnded asks the gateway whether a session has ended. Reply does not block and is called once.
type AskEnded struct {
	ID    string
	Reply func(ended bool)
}

// Abandon answers that the session is not known to have ended.
func (m AskEnded) Abandon(kernel.Reason) { m.Reply(false) }

// EndUnopened ends a session because its client sent HTTP DELETE. Another node has opened the session, and it has no actor on this node.
// If it has got one meanwhile, Again decides once more where the request goes.
type EndUnopened struct {
	Exchange *downstream.Exchange
	Holder   string
	Again    func()
}

// Abandon answers that the session does not exist.
func (m EndUnopened) Abandon(kernel.Reason) { RefuseNoSession(m.Exchange) }

// EndedElsewhere tells a session that its client has ended it at another node, which was its home.
type EndedElsewhere struct{}

// Class is Outcome: it is sent once.
func (EndedElsewhere) Class() kernel.Class { return kernel.Outcome }

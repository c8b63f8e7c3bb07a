package main

import (
	"goblin-actor/internal/audit"
	"goblin-actor/internal/auth"
	"goblin-actor/protocol"
)

// denied tells the audit log, once there is a gateway, of a request that was turned away for who sent it.
func (e *edge) denied(d auth.Denial) {
	if g := e.gateway.Load(); g != nil {
		g.Audit().Record(denialOf(d))
	}
}

// denialOf is what the log is told. Who is not known has no name in it, whatever the credential said.
func denialOf(d auth.Denial) audit.Record {
	r := audit.Record{Event: audit.EventDenied, Peer: d.Peer.String(), Method: d.Path, Decision: audit.Deny, Detail: d.Reason}
	if d.Who != nil {
		r.Who, r.Via = d.Who.ID, d.Who.Via
	}
	switch d.Status {
	case 401:
		r.Outcome = string(protocol.Unauthenticated)
	case 429:
		r.Outcome = string(protocol.RateLimited)
	case 503:
		r.Outcome = string(protocol.Overloaded)
	case 403:
		r.Outcome = "FORBIDDEN"
	default:
		r.Outcome = "INVALID_REQUEST"
	}
	return r
}

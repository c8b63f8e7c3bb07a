package message

import (
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/protocol"
	"goblin-actor/protocol/seal"
	"goblin-actor/protocol/transport"
)

// Visit is a modern request: it carries everything with it and is held by a desk.
type Visit struct {
	Exchange *transport.Exchange
	View     catalog.Key
	State    *seal.State // what its requestState says, opened; nil = it has none
}

// Abandon answers a client whose desk is overwhelmed, or has gone.
func (v Visit) Abandon(why kernel.Why) {
	name := protocol.ShuttingDown
	if why == kernel.Overloaded || why == kernel.Panicked {
		name = protocol.Overloaded
	}
	RefuseModern(v.Exchange, &protocol.Fault{Name: name, Message: "the gateway could not take the request: " + string(why), Retryable: true})
}

// Withdrawal is a modern client's notifications/cancelled on stdio; RequestID as it came.
type Withdrawal struct {
	Remote    string
	RequestID string
}

// Class: never refused, and never before its own Visit or OpenListen.
func (Withdrawal) Class() kernel.Class { return kernel.Outcome }

// OpenListen asks the gateway for an actor that serves a subscriptions/listen stream.
type OpenListen struct {
	Exchange *transport.Exchange
	View     catalog.Key
}

// Abandon tells the client to come back.
func (o OpenListen) Abandon(why kernel.Why) { RefuseModern(o.Exchange, noRoom(why)) }

// RefuseModern answers a modern request with a fault of ours; some faults have an HTTP status of their own.
func RefuseModern(x *transport.Exchange, fault *protocol.Fault) {
	var id []byte // a modern error without a readable id has none (MCP 2026-07-28, basic)
	if x.Frame.Kind == protocol.KindRequest {
		id = x.Frame.IDBytes()
	}
	body := fault.AppendTo(nil, id, true)
	if status := fault.Status(true); status != 200 {
		x.Refuse(status, body, fault.RetryAfter)
		return
	}
	x.Answer(body, false)
}

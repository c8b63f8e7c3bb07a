package message

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/seal"
)

// StatelessRequest is a modern request: it carries everything with it and is held by a desk.
type StatelessRequest struct {
	Exchange *downstream.Exchange
	Admitted
	State *seal.State // what its requestState says, opened; nil = it has none
}

// Abandon answers a client whose desk is overwhelmed, or has gone.
func (v StatelessRequest) Abandon(why kernel.Reason) {
	fault := &protocol.Fault{Name: protocol.ShuttingDown, Message: "the gateway could not take the request: " + string(why), Retryable: true}
	switch why {
	case kernel.Overloaded:
		fault.Name, fault.Message = protocol.Overloaded, "more requests of this address at once than the gateway takes in (no key says how many); nothing was sent"
	case kernel.Panicked:
		fault.Name = protocol.Overloaded
	}
	RefuseModern(v.Exchange, fault)
}

// Lane: at a desk whoever asks much waits for himself.
func (v StatelessRequest) Lane() uint32 { return laneOfClient(v.Exchange, v.Who) }

// CancelStateless is a modern client's notifications/cancelled on stdio; RequestID as it came.
type CancelStateless struct {
	Principal string // whose; only a request of the same is meant
	Remote    string
	RequestID string
}

// Class: never refused, and never before its own Visit or OpenSubscription.
func (CancelStateless) Class() kernel.Class { return kernel.Outcome }

// Lane is that of the Visit.
func (w CancelStateless) Lane() uint32 {
	if w.Principal != "" {
		return LaneOf(w.Principal)
	}
	return LaneOf(downstream.HostOf(w.Remote))
}

// OpenSubscription asks the gateway for an actor that serves a subscriptions/listen stream.
type OpenSubscription struct {
	Exchange *downstream.Exchange
	Admitted
	Subscriptions int // what it counts as where somebody was asked; see clientsubs.CountOfStream
}

// Abandon tells the client to come back.
func (o OpenSubscription) Abandon(why kernel.Reason) { RefuseModern(o.Exchange, NoRoom(why)) }

// Drained tells the gateway that a desk that was asked to drain has nobody left who waits for an answer.
type Drained struct{ From kernel.Reference }

func (Drained) Class() kernel.Class { return kernel.Outcome }

// RefuseModern answers a modern request with a fault of ours; some faults have an HTTP status of their own.
func RefuseModern(x *downstream.Exchange, fault *protocol.Fault) {
	var id []byte // a modern error without a readable id has none (MCP 2026-07-28, basic)
	if x.Frame.Kind == protocol.KindRequest {
		id = x.Frame.IDBytes()
	}
	body := fault.AppendTo(nil, id, protocol.EraModern)
	if status := fault.Status(protocol.EraModern); status != 200 {
		x.Refuse(status, body, fault.RetryAfter)
		return
	}
	x.Answer(protocol.Message{Frame: body})
}

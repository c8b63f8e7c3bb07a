package message

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/seal"
)

// StatelessRequest is a modern request. It is self-contained, and a stateless session handles it.
type StatelessRequest struct {
	Exchange *downstream.Exchange
	Admitted
	State  *seal.State // the request's unsealed requestState; nil = it has none
	PassOn PassOn
}

// Abandon answers a client whose stateless session is overloaded, has panicked or has ended. In a cluster, another node serves the
// request if the session has ended.
func (v StatelessRequest) Abandon(why kernel.Reason) {
	if v.PassOn.passedOn(why) {
		return
	}
	fault := &protocol.Fault{Name: protocol.ShuttingDown, Message: "the gateway did not accept the request: " + string(why), Retryable: true}
	switch why {
	case kernel.Overloaded:
		fault.Name, fault.Message = protocol.Overloaded, "too many requests of this client wait in the gateway; the request was not sent"
	case kernel.Panicked:
		fault.Name = protocol.Overloaded
	}
	RefuseModern(v.Exchange, fault)
}

// Lane returns the client's lane: clients take turns in a stateless session's mailbox.
func (v StatelessRequest) Lane() uint32 { return laneOfClient(v.Exchange, v.Who) }

// CancelStateless is a notifications/cancelled on stdio, with RequestID as raw JSON. Clients may omit its era, so the
// request may also be a legacy one, which stateless sessions do not know.
type CancelStateless struct {
	Principal string // only a request of the same principal is canceled
	Remote    string
	RequestID string
}

// Class is Outcome: it is never refused, and never overtakes the request that it cancels.
func (CancelStateless) Class() kernel.Class { return kernel.Outcome }

// Lane returns the lane of the request to be canceled.
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
	Subscriptions int // number of subscriptions that the stream uses up of its principal's limit; see clientsubs.StreamCost
	PassOn        PassOn
}

// Abandon refuses the stream; the client may try again. In a cluster, another node serves it if this one stops.
func (o OpenSubscription) Abandon(why kernel.Reason) {
	if !o.PassOn.passedOn(why) {
		RefuseModern(o.Exchange, NoRoom(why))
	}
}

// Refuse tells the client why it gets no stream. If the gateway is shutting down, another node of the cluster serves the stream.
func (o OpenSubscription) Refuse(fault *protocol.Fault) {
	if !o.PassOn.Passed(fault) {
		RefuseModern(o.Exchange, fault)
	}
}

// Drained tells the gateway that no client waits for a draining stateless session anymore.
type Drained struct{ From kernel.Reference }

func (Drained) Class() kernel.Class { return kernel.Outcome }

// RefuseModern answers a modern request with a gateway error. Some errors have an HTTP status other than 200.
func RefuseModern(x *downstream.Exchange, fault *protocol.Fault) {
	var id []byte // a modern error without a readable id has none (MCP 2026-07-28, basic)
	if x.Frame.Kind == protocol.KindRequest {
		id = x.Frame.IDBytes()
	}
	x.Report.Code = fault.Code(protocol.EraModern)
	body := fault.AppendTo(nil, id, protocol.EraModern)
	if status := fault.Status(protocol.EraModern); status != 200 {
		x.Refuse(status, body, fault.RetryAfter)
		return
	}
	x.Answer(protocol.Message{Frame: body})
}

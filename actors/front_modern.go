package actors

import (
	"time"

	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/stateless"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/seal"
)

// modern checks a modern message and passes it to a stateless session. A message with a sealed state goes to the
// stateless session that holds the call awaiting input; others are distributed in turn.
func (g *Gateway) modern(x *downstream.Exchange, admitted message.Admitted) {
	switch x.Frame.Kind {
	case protocol.KindNotification:
		if x.Origin.Stdio && x.Frame.M == protocol.NotificationCancelled {
			g.cancelled(x, admitted)
		}
		x.Accept() // the specification defines no other notification from clients; any is accepted
		return
	case protocol.KindResult, protocol.KindError:
		message.RefuseModern(x, &protocol.Fault{Name: protocol.InvalidRequest, Message: "responses are not allowed in this protocol version; send answers in inputResponses"})
		return
	}
	fault := protocol.CheckModern(x.Origin.Repeated(), &x.Frame, &x.Params)
	if fault != nil && (fault.Name != protocol.MethodNotFound || x.Frame.M != protocol.MethodOther) { // a server may support an unknown method
		message.RefuseModern(x, fault)
		return
	}
	if x.Frame.M == protocol.MethodSubscriptionsListen {
		if x.Origin.JSONOnly { // the client would never receive the response
			message.RefuseFault(x, 406, &protocol.Fault{Name: protocol.InvalidRequest, Message: "subscriptions/listen is answered with a stream; add text/event-stream to the Accept header"})
			return
		}
		m := message.OpenSubscription{Exchange: x, Admitted: admitted}
		if m.Principal() != "" {
			m.Subscriptions = clientsubs.StreamCost(x)
		}
		g.self.Tell(m)
		return
	}
	visit := message.StatelessRequest{Exchange: x, Admitted: admitted}
	number := int(g.turn.Add(1) % uint64(g.desks))
	if x.Origin.Stdio {
		number = 0 // stdio cancellations are sent there
	}
	if x.Params.RequestState.Present() {
		text, _ := rawjson.Unquote(x.Params.RequestState.Of(x.Frame.Raw))
		sealer := g.sealer.Load()
		if sealer == nil { // no stateless session has started yet
			visit.Abandon(kernel.Gone)
			return
		}
		state, err := sealer.Open(text, time.Now())
		if err != nil || !state.IsOf(admitted.Principal()) { // do not reveal whether a stolen state is valid
			refusal := &message.Refusal{Fault: &protocol.Fault{Name: protocol.RequestStateInvalid, Message: "invalid or expired requestState"}}
			g.recordRefusal(&x.Origin, x.Frame.MethodText(), refusal)
			message.RefuseModern(x, refusal.Fault)
			return
		}
		visit.State = &state
		if state.Kind == seal.Parked {
			number = int(state.Desk)
		}
	}
	desk, ok := g.desk(number)
	if !ok {
		visit.Abandon(kernel.Gone)
		return
	}
	if x.Origin.Stdio { // its goroutine has to read the next message
		desk.Tell(visit)
		return
	}
	desk.TellInline(visit)
}

// desk returns the stateless session with that number.
func (g *Gateway) desk(number int) (kernel.Reference, bool) {
	if number < 0 || number >= g.desks {
		return kernel.Reference{}, false
	}
	return g.system.Lookup("gateway/" + stateless.Name(number))
}

// cancelled passes a cancellation on stdio to the client's stateless session and its subscription streams.
func (g *Gateway) cancelled(x *downstream.Exchange, admitted message.Admitted) {
	m := message.CancelStateless{Principal: admitted.Principal(), Remote: x.Origin.Remote, RequestID: string(x.Params.RequestID.Of(x.Frame.Raw))}
	if desk, ok := g.desk(0); ok {
		desk.Tell(m)
	}
	g.self.Tell(m)
}

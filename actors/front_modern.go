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

// modern checks a modern message and deals it to a desk: one that comes back with a sealed state to the desk that
// parked its call, any other to the next in turn.
func (g *Gateway) modern(x *downstream.Exchange, admitted message.Admitted) {
	switch x.Frame.Kind {
	case protocol.KindNotification:
		if x.Origin.Stdio && x.Frame.M == protocol.NotificationCancelled {
			g.cancelled(x, admitted)
		}
		x.Accept() // the core defines no other, and none over HTTP; any is accepted
		return
	case protocol.KindResult, protocol.KindError:
		message.RefuseModern(x, &protocol.Fault{Name: protocol.InvalidRequest, Message: "a modern client sends no responses; answers travel in inputResponses"})
		return
	}
	fault := protocol.CheckModern(x.Origin.Repeated(), &x.Frame, &x.Params)
	if fault != nil && (fault.Name != protocol.MethodNotFound || x.Frame.M != protocol.MethodOther) { // a server may know that one
		message.RefuseModern(x, fault)
		return
	}
	if x.Frame.M == protocol.MethodSubscriptionsListen {
		if x.Origin.JSONOnly { // it would wait for ever for what it does not take
			message.RefuseFault(x, 406, &protocol.Fault{Name: protocol.InvalidRequest, Message: "subscriptions/listen is answered with a stream: Accept must admit text/event-stream"})
			return
		}
		m := message.OpenSubscription{Exchange: x, Admitted: admitted}
		if m.Principal() != "" {
			m.Subscriptions = clientsubs.CountOfStream(x)
		}
		g.self.Tell(m)
		return
	}
	visit := message.StatelessRequest{Exchange: x, Admitted: admitted}
	number := int(g.turn.Add(1) % uint64(g.desks))
	if x.Origin.Stdio {
		number = 0 // where a cancellation on stdio looks for it
	}
	if x.Params.RequestState.Present() {
		text, _ := rawjson.Unquote(x.Params.RequestState.Of(x.Frame.Raw))
		sealer := g.sealer.Load()
		if sealer == nil { // no desk stands yet
			visit.Abandon(kernel.Gone)
			return
		}
		state, err := sealer.Open(text, time.Now())
		if err != nil || !state.IsOf(admitted.Principal()) { // whoever has stolen one does not even learn that it is one
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
	if x.Origin.Stdio { // its goroutine has the next message to read
		desk.Tell(visit)
		return
	}
	desk.TellInline(visit)
}

// desk finds a desk by its number.
func (g *Gateway) desk(number int) (kernel.Reference, bool) {
	if number < 0 || number >= g.desks {
		return kernel.Reference{}, false
	}
	return g.system.Lookup("gateway/" + stateless.Name(number))
}

// cancelled tells the desk of stdin and stdout, and the streams that listen there, that a request may be theirs.
func (g *Gateway) cancelled(x *downstream.Exchange, admitted message.Admitted) {
	m := message.CancelStateless{Principal: admitted.Principal(), Remote: x.Origin.Remote, RequestID: string(x.Params.RequestID.Of(x.Frame.Raw))}
	if desk, ok := g.desk(0); ok {
		desk.Tell(m)
	}
	g.self.Tell(m)
}

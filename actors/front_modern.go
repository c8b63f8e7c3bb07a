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

// modern checks a modern message and passes it to the actor that serves it.
func (g *Gateway) modern(x *downstream.Exchange, admitted message.Admitted) {
	switch x.Frame.Kind {
	case protocol.KindNotification:
		if x.Origin.Stdio && x.Frame.Method == protocol.NotificationCancelled {
			g.cancelStateless(x, admitted)
		}
		x.Accept() // the specification defines no other notification from clients; all are accepted
		return
	case protocol.KindResult, protocol.KindError:
		message.RefuseModern(x, &protocol.Fault{Name: protocol.InvalidRequest, Message: "responses are not allowed in this protocol version; send answers in inputResponses"})
		return
	}
	fault := protocol.CheckModern(x.Origin.Repeated(), &x.Frame, &x.Params)
	if fault != nil && (fault.Name != protocol.MethodNotFound || x.Frame.Method != protocol.MethodOther) { // a server may support another method
		message.RefuseModern(x, fault)
		return
	}
	if x.Frame.Method == protocol.MethodSubscriptionsListen {
		g.openSubscription(x, admitted)
		return
	}
	g.statelessRequest(x, admitted)
}

// openSubscription asks the gateway actor for a subscription stream.
func (g *Gateway) openSubscription(x *downstream.Exchange, admitted message.Admitted) {
	if x.Origin.JSONOnly { // the client would never receive the response
		message.RefuseFault(x, 406, &protocol.Fault{Name: protocol.InvalidRequest, Message: "subscriptions/listen is answered with a stream; add text/event-stream to the Accept header"})
		return
	}
	m := message.OpenSubscription{Exchange: x, Admitted: admitted}
	if m.Principal() != "" {
		m.Subscriptions = clientsubs.StreamCost(x)
	}
	g.self.Tell(m)
}

// statelessRequest passes a request to a stateless session. A request that continues a parked call goes to the stateless session
// that holds the call. Other requests on stdio go to the first one, and all others to each in turn.
func (g *Gateway) statelessRequest(x *downstream.Exchange, admitted message.Admitted) {
	request := message.StatelessRequest{Exchange: x, Admitted: admitted}
	number := int(g.nextStateless.Add(1) % uint64(g.statelessCount))
	if x.Origin.Stdio {
		number = 0 // stdio cancellations are sent there
	}
	if x.Params.RequestState.Present() {
		sealer := g.sealer.Load()
		if sealer == nil { // no stateless session has started yet
			request.Abandon(kernel.NotRunning)
			return
		}
		if request.State = g.openState(sealer, x, admitted); request.State == nil {
			return
		}
		if request.State.Kind == seal.Parked {
			number = int(request.State.Actor)
		}
	}
	ref, ok := g.statelessSession(number)
	if !ok {
		request.Abandon(kernel.NotRunning)
		return
	}
	if x.Origin.Stdio { // the goroutine that reads stdin must not block
		ref.Tell(request)
		return
	}
	ref.TellInline(request)
}

// openState returns the sealed state that a request carries. If the state is invalid or belongs to another principal, openState
// refuses the request and returns nil. Both cases have the same error, which does not reveal whether a stolen state is valid.
func (g *Gateway) openState(sealer *seal.Sealer, x *downstream.Exchange, admitted message.Admitted) *seal.State {
	text, _ := rawjson.Unquote(x.Params.RequestState.Of(x.Frame.Raw))
	state, err := sealer.Open(text, time.Now())
	if err != nil || !state.IsOf(admitted.Principal()) {
		refusal := &message.Refusal{Fault: &protocol.Fault{Name: protocol.RequestStateInvalid, Message: "invalid or expired requestState"}}
		g.recordRefusal(&x.Origin, x.Frame.MethodText(), refusal)
		message.RefuseModern(x, refusal.Fault)
		return nil
	}
	return &state
}

// statelessSession returns the stateless session with that number.
func (g *Gateway) statelessSession(number int) (kernel.Reference, bool) {
	if number < 0 || number >= g.statelessCount {
		return kernel.Reference{}, false
	}
	return g.system.Lookup("gateway/" + stateless.Name(number))
}

// cancelStateless passes a cancellation on stdio to the client's stateless session and its subscription streams.
func (g *Gateway) cancelStateless(x *downstream.Exchange, admitted message.Admitted) {
	m := message.CancelStateless{Principal: admitted.Principal(), Remote: x.Origin.Remote, RequestID: string(x.Params.RequestID.Of(x.Frame.Raw))}
	if ref, ok := g.statelessSession(0); ok {
		ref.Tell(m)
	}
	g.self.Tell(m)
}

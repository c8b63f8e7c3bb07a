package actors

import (
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/stateless"
	"goblin-actor/internal/cluster"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/seal"
)

// modern checks a modern message and passes it to the actor that serves it, here or, unless relayed is true, on another node of
// the cluster. passOn passes it on if this node does not accept it; nil = only this node can serve it.
func (g *Gateway) modern(x *downstream.Exchange, admitted message.Admitted, relayed bool, passOn message.PassOn) {
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
		g.openSubscription(x, admitted, passOn)
		return
	}
	g.statelessRequest(message.StatelessRequest{Exchange: x, Admitted: admitted, PassOn: passOn}, relayed)
}

// openSubscription asks the gateway actor for a subscription stream.
func (g *Gateway) openSubscription(x *downstream.Exchange, admitted message.Admitted, passOn message.PassOn) {
	if x.Origin.JSONOnly { // the client would never receive the response
		message.RefuseFault(x, 406, &protocol.Fault{Name: protocol.InvalidRequest, Message: "subscriptions/listen is answered with a stream; add text/event-stream to the Accept header"})
		return
	}
	m := message.OpenSubscription{Exchange: x, Admitted: admitted, PassOn: passOn}
	if m.Principal() != "" {
		m.Subscriptions = clientsubs.StreamCost(x)
	}
	g.self.Tell(m)
}

// statelessRequest passes a request to a stateless session. A request that continues a parked call goes to the stateless session
// that holds the call. Other requests on stdio go to the first one, and all others to each in turn.
func (g *Gateway) statelessRequest(request message.StatelessRequest, relayed bool) {
	x, admitted := request.Exchange, request.Admitted
	number := int(g.nextStateless.Add(1) % uint64(g.statelessCount))
	if x.Origin.Stdio {
		number = 0 // stdio cancellations are sent there
	}
	if x.Params.RequestState.Present() || g.cluster != nil && x.Params.TaskID.Present() {
		sealer := g.sealer.Load()
		if sealer == nil { // no stateless session has started yet
			request.Abandon(kernel.NotRunning)
			return
		}
		if x.Params.RequestState.Present() {
			if request.State = g.openState(sealer, x, admitted); request.State == nil {
				return
			}
		}
		if node := nodeOf(sealer, x, &request); node != "" && !g.cluster.Members.Mine(node) {
			g.modernElsewhere(node, x, relayed)
			return
		}
		if request.State != nil && request.State.Kind == seal.Parked {
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
	state, err := sealer.Open(stateText(x), time.Now())
	if err != nil || !state.IsOf(admitted.Principal()) {
		refusal := &message.Refusal{Fault: &protocol.Fault{Name: protocol.RequestStateInvalid, Message: "invalid or expired requestState"}}
		g.recordRefusal(&x.Origin, x.Frame.MethodText(), refusal)
		message.RefuseModern(x, refusal.Fault)
		return nil
	}
	return &state
}

func stateText(x *downstream.Exchange) string {
	text, _ := rawjson.Unquote(x.Params.RequestState.Of(x.Frame.Raw))
	return text
}

// nodeOf returns the incarnation of the node that must serve a modern request, or "" if any node can: the node that holds the call
// which the request continues, or whose process runs the task that it names.
func nodeOf(sealer *seal.Sealer, x *downstream.Exchange, request *message.StatelessRequest) string {
	switch {
	case request.State != nil && request.State.Node != "":
		return seal.NodeIn(stateText(x))
	case request.State == nil && x.Params.TaskID.Present():
		id, _ := rawjson.Unquote(x.Params.TaskID.Of(x.Frame.Raw))
		return admission.TaskIDs{Sealer: sealer, Principal: request.Principal(), Hop: request.Behalf != nil}.NodeOf(id)
	}
	return ""
}

// modernElsewhere passes a modern request on to the node that must serve it. A request that another node has passed on is refused.
func (g *Gateway) modernElsewhere(node string, x *downstream.Exchange, relayed bool) {
	if relayed {
		message.RefuseFault(x, 421, misdirected)
		return
	}
	g.cluster.Relay.Post(node, x, cluster.Retry{})
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

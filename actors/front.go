package actors

import (
	"context"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// Front returns the handler for HTTP clients. It passes each message to the actor that serves it. It needs no table of sessions,
// because session IDs are part of the actors' names.
func (g *Gateway) Front() downstream.Handler { return front{Gateway: g} }

type front struct {
	*Gateway
	relayed bool // the requests come from other nodes of the cluster
}

// Post passes a client's message to its session or to a stateless session. A message that opens a session or a subscription
// stream goes to the gateway actor. The era is determined for each message, since one client may send messages of both eras.
func (f front) Post(x *downstream.Exchange) {
	x.Observe(&f.requests)
	messages := downstream.RouteMessages.Ends(x.Origin.Path)
	era := protocol.EraLegacy
	if x.Batch == nil && !messages {
		era = protocol.EraOf(x.Origin.Repeated(), &x.Frame, &x.Params)
	}
	admitted, refusal := f.entrance.Load().Admit(&x.Origin, x)
	if refusal != nil {
		f.recordRefusal(&x.Origin, x.Frame.MethodText(), refusal)
		if messages { // HTTP+SSE: the refusal answers the POST and not the stream, so it needs an error status
			refusal.Status = max(refusal.Status, 400)
		}
		refusal.Refuse(x, era)
		return
	}
	if x.Batch != nil && protocol.IsModern(x.Origin.Version) {
		message.RefuseModern(x, &protocol.Fault{Name: protocol.InvalidRequest, Message: "batches are not allowed in this protocol version; send one message per request"})
		return
	}
	if era == protocol.EraModern {
		f.postModern(x, admitted)
		return
	}
	if x.Origin.SessionID != "" {
		if x.Origin.Relayed = f.relayed; f.cluster != nil {
			elsewhere{Gateway: f.Gateway}.Post(x, admitted)
			return
		}
		if ref, ok := f.session(x.Origin.SessionID); ok {
			ref.TellInline(message.Inbound{Exchange: x, Admitted: admitted})
			return
		}
		message.RefuseNoSession(x)
		return
	}
	if x.Frame.Kind == protocol.KindRequest && x.Frame.Method == protocol.MethodInitialize && x.Batch == nil && !messages { // HTTP+SSE opens a session with its stream
		r := anyNode{front: f, x: x, admitted: admitted, serve: func(r anyNode) {
			r.self.Tell(message.OpenSession{Exchange: r.x, Admitted: r.admitted, PassOn: r.passOn()})
		}}
		r.begin()
		return
	}
	if messages {
		message.RefuseFault(x, 400, &protocol.Fault{Name: protocol.InvalidRequest,
			Message: "the query has no sessionId; open the stream with GET first, then send messages to the endpoint that its first event names"})
		return
	}
	// MCP 2025-11-25, basic/transports: a request other than initialize without a session ID is answered with 400.
	message.RefuseFault(x, 400, &protocol.Fault{Name: protocol.InvalidRequest,
		Message: "the header Mcp-Session-Id is missing; send initialize first, then repeat the session ID of its response in every request"})
}

// postModern serves a modern message at this node or, if none of its parts needs this one, at another.
func (f front) postModern(x *downstream.Exchange, admitted message.Admitted) {
	if f.cluster == nil || x.Params.RequestState.Present() || x.Params.TaskID.Present() {
		f.modern(x, admitted, f.relayed, nil)
		return
	}
	anyNode{front: f, x: x, admitted: admitted, serve: func(r anyNode) { r.modern(r.x, r.admitted, r.relayed, r.passOn()) }}.begin()
}

// Traced reports whether the gateway was started with telemetry.
func (g *Gateway) Traced() bool { return g.requests.telemetry != nil }

// Open passes a client's stream to its session. GET /sse opens a session (MCP 2024-11-05, basic/transports, HTTP with
// SSE).
func (f front) Open(stream *downstream.EventStream) {
	admitted, refusal := f.entrance.Load().Admit(&stream.Origin, nil)
	if refusal != nil {
		f.recordRefusal(&stream.Origin, "stream", refusal)
		refusal.RefuseStream(stream)
		return
	}
	if downstream.RouteSSE.Ends(stream.Origin.Path) {
		f.self.Tell(message.OpenSession{Stream: stream, Admitted: admitted})
		return
	}
	id := stream.Origin.SessionID
	if id == "" || protocol.IsModern(stream.Origin.Version) {
		stream.Refuse(405, nil, 0) // the modern era has no GET streams
		return
	}
	if stream.Origin.Relayed = f.relayed; f.cluster != nil {
		elsewhere{Gateway: f.Gateway}.Open(stream, admitted)
		return
	}
	ref, ok := f.session(id)
	if !ok {
		stream.Refuse(404, nil, 0)
		return
	}
	ref.Tell(message.StreamOpened{Stream: stream, Admitted: admitted})
}

// Delete passes a client's request to end its session to the session.
func (f front) Delete(x *downstream.Exchange) {
	admitted, refusal := f.entrance.Load().Admit(&x.Origin, nil)
	if refusal != nil {
		f.recordRefusal(&x.Origin, "end", refusal)
		refusal.Refuse(x, protocol.EraLegacy)
		return
	}
	if x.Origin.SessionID == "" || protocol.IsModern(x.Origin.Version) {
		x.Refuse(405, nil, 0)
		return
	}
	if x.Origin.Relayed = f.relayed; f.cluster != nil {
		elsewhere{Gateway: f.Gateway}.Delete(x, admitted)
		return
	}
	ref, ok := f.session(x.Origin.SessionID)
	if !ok {
		message.RefuseNoSession(x)
		return
	}
	ref.Tell(message.EndSession{Exchange: x, Admitted: admitted})
}

// Stdio opens the session of the client on stdin and stdout and returns its handler. If project is set, the client sees
// only that project; otherwise its requests may name one.
func (g *Gateway) Stdio(ctx context.Context, project string) (downstream.Handler, error) {
	reply := make(chan kernel.Reference, 1)
	local := g.entrance.Load().Local
	g.self.Tell(message.OpenStdio{Admitted: message.Admitted{Who: local, View: message.Narrowed(catalog.Key{Project: project}, local)}, Reply: reply})
	select {
	case ref := <-reply:
		if ref.IsZero() {
			return nil, ErrStopped
		}
		return stdioFront{g, ref, project}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// stdioFront passes legacy messages to the client's session and modern ones to a stateless session. The eras may
// alternate.
type stdioFront struct {
	*Gateway
	session kernel.Reference
	project string // "" = none
}

func (f stdioFront) admit(o *downstream.Origin, x *downstream.Exchange) (message.Admitted, *message.Refusal) {
	entrance := *f.entrance.Load()
	entrance.Bound = f.project
	return entrance.Admit(o, x)
}

func (f stdioFront) Post(x *downstream.Exchange) {
	x.Observe(&f.requests)
	era := protocol.EraLegacy
	if x.Batch == nil {
		era = protocol.EraOf(nil, &x.Frame, &x.Params)
	}
	admitted, refusal := f.admit(&x.Origin, x)
	if refusal != nil {
		f.recordRefusal(&x.Origin, x.Frame.MethodText(), refusal)
		refusal.Refuse(x, era)
		return
	}
	if era == protocol.EraModern {
		f.modern(x, admitted, false, nil)
		return
	}
	if x.Batch == nil && x.Frame.Method == protocol.NotificationCancelled {
		f.cancelStateless(x, admitted) // it may cancel a modern request: some clients do not state the era of a cancellation
	}
	f.session.Tell(message.Inbound{Exchange: x, Admitted: admitted})
}

func (f stdioFront) Open(stream *downstream.EventStream) {
	f.session.Tell(message.StreamOpened{Stream: stream, Admitted: message.Admitted{Who: stream.Origin.Principal}})
}

func (f stdioFront) Delete(x *downstream.Exchange) {
	f.session.Tell(message.EndSession{Exchange: x, Admitted: message.Admitted{Who: x.Origin.Principal}})
}

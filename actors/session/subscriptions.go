package session

import (
	"maps"
	"slices"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/clientcalls"
	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// subscriptions are the resources that the client is subscribed to, or wants to be.
type subscriptions struct {
	active    map[clientsubs.Resource]*clientsubs.Subscription
	pools     map[string]clientsubs.PoolLife // pools that know of the subscriptions, by server
	owners    clientsubs.Owners              // owners of the connections that they use
	pending   map[uint64]subscribing         // subscribes that wait for the server, by number
	reserving map[uint64]*reservation        // subscribes that wait for the gateway, by number
	reserved  int                            // subscriptions that the gateway has granted and that are not used
	waiting   int                            // updates that wait for a stream
}

// full reports whether the client may not subscribe to r now: it waits for too many answers of servers, or r is a further
// resource and the client is subscribed to the maximum number, including requests that wait for the gateway.
func (u *subscriptions) full(r clientsubs.Resource) bool {
	_, known := u.active[r]
	return len(u.pending) >= clientsubs.MaxSubscriptions || !known && len(u.active)+len(u.reserving) >= clientsubs.MaxSubscriptions
}

// resources returns the resources that the client is subscribed to, in ascending order.
func (u *subscriptions) resources() []clientsubs.Resource {
	return slices.SortedFunc(maps.Keys(u.active), clientsubs.Resource.Compare)
}

// subscribing is a resources/subscribe that the server has not answered.
type subscribing struct {
	x *downstream.Exchange // nil = the session restores a subscription of its note
	clientsubs.Resource
	own              *message.ConnectionOwner // owner of the connections it uses; nil = shared connections
	subscribedBefore bool                     // the session was already subscribed, and stays so if this fails
	unlisted         bool                     // the resource is in no list; with x = nil, the client is notified when the pool has accepted it
}

// subscribe asks the server for updates of a resource. The client is answered after the server, so success means that
// updates will be sent. A request for an unknown URI is refused, or waits until the lists that may contain the URI are
// refreshed (lookup).
func (s *state) subscribe(x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	uri, found, fault := s.resourceOf(x)
	denied := admission.DeniedIn(s.catalog.view, x, found, fault)
	if !s.calls.Retrying() {
		out = admission.CountDenied(denied, s.principal.who, s.catalog.key, out)
	}
	if fault != nil {
		out, _ = s.lookup(x, fault, denied, out)
		return out
	}
	r := clientsubs.Resource{Server: found.Server.Name, URI: found.Original}
	if s.subs.full(r) {
		return s.fault(x, &protocol.Fault{Name: protocol.Overloaded, Message: "too many subscriptions in this session"}, out)
	}
	sub, known := s.subs.active[r]
	if !known && s.missingReservations(r) > 0 {
		return s.reserve(x, r, out)
	}
	own := s.ownerOf(found.Server, x)
	switch {
	case !known:
		s.useReservation(r)
		sub = &clientsubs.Subscription{}
		put(&s.subs.active, r, sub)
	case sub.Own.KeyOf() != own.KeyOf(): // the request has other headers this time: the newest ones apply
		out = append(out, s.unsubscribeEffect(r, sub))
		known = false
	}
	sub.Public, sub.Own = uri, own
	put(&s.subs.pools, r.Server, clientsubs.LifeOf(found.Server))
	seq := s.calls.Next()
	put(&s.subs.pending, seq, subscribing{x: x, Resource: r, own: own, subscribedBefore: known})
	return append(out, kernel.Tell(found.Server.Pool, message.SubscribeURI{From: s.self, Seq: seq, URI: r.URI, Own: own, Unlisted: found.Unlisted}))
}

// unsubscribe ends a subscription. The pool unsubscribes at the server some time after the last subscriber has left.
func (s *state) unsubscribe(x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	uri, found, fault := s.resourceOf(x)
	s.noting.forget(uri)
	if fault != nil {
		out, _ = s.lookup(x, fault, nil, out)
		return out
	}
	r := clientsubs.Resource{Server: found.Server.Name, URI: found.Original}
	s.dropReservations(r)
	if sub := s.subs.active[r]; sub != nil {
		s.forgetSubscription(r)
		out = s.noteChanged(s.releaseUnused(append(out, s.unsubscribeEffect(r, sub))))
	}
	return s.result(x, []byte("{}"), out)
}

// unsubscribeEffect tells the pool that the session wants no more updates of a resource.
func (s *state) unsubscribeEffect(r clientsubs.Resource, sub *clientsubs.Subscription) kernel.Effect {
	return kernel.Tell(s.subs.pools[r.Server].Pool, message.UnsubscribeURI{From: s.self, Tenant: sub.Own.KeyOf(), URI: r.URI})
}

// subscribed passes the server's answer to the client, if one waits for it. It removes a new subscription that the server
// refused.
func (s *state) subscribed(m message.SubscribeURIResult, out []kernel.Effect) []kernel.Effect {
	w, ok := s.subs.pending[m.Seq]
	if !ok {
		return out
	}
	delete(s.subs.pending, m.Seq)
	switch {
	case m.Fault == nil && m.Error == nil && w.x == nil && w.unlisted:
		return s.mayHaveChanged(w.Resource, out)
	case m.Fault == nil && m.Error == nil && w.x == nil:
		return out
	case m.Fault == nil && m.Error == nil:
		return s.answerNoted(w.x, out)
	case !w.subscribedBefore && s.subs.active[w.Resource] != nil && s.subs.active[w.Resource].Own.KeyOf() == w.own.KeyOf():
		s.forgetSubscription(w.Resource)
		out = s.releaseUnused(out)
	}
	if w.x == nil {
		return s.noteChanged(out)
	}
	if m.Fault != nil && m.Fault.Name == protocol.ResourceNotFound { // replaced, because its text contains the server's URI
		return s.fault(w.x, clientcalls.NoResource(w.x), out)
	}
	if m.Fault != nil {
		return s.fault(w.x, m.Fault, out)
	}
	frame := append([]byte(`{"jsonrpc":"2.0","id":`), w.x.Frame.IDBytes()...)
	frame = append(append(frame, `,"error":`...), m.Error...)
	return append(out, kernel.Act(reply.Answer{X: w.x, Message: protocol.Message{Frame: append(frame, '}')}}))
}

// forgetSubscription removes a subscription and its updates that wait for a stream.
func (s *state) forgetSubscription(r clientsubs.Resource) {
	if sub := s.subs.active[r]; sub != nil {
		s.subs.waiting -= len(sub.Due)
		delete(s.subs.active, r)
		s.freeReservation(r)
	}
}

// resourceOf finds the resource that a request's uri names.
func (s *state) resourceOf(x *downstream.Exchange) (string, catalog.Found, *protocol.Fault) {
	uri, ok := rawjson.Unquote(x.Params.URI.Of(x.Frame.Raw))
	if !ok {
		return "", catalog.Found{}, protocol.BadParams("params.uri: want a string")
	}
	found, fault := s.catalog.view.Resource(uri)
	return uri, found, fault
}

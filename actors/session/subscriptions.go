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

// subscribing is a resources/subscribe whose server has not answered.
type subscribing struct {
	x *downstream.Exchange
	clientsubs.Resource
	own              *message.ConnectionOwner // on whose connections; nil = those that are for everybody
	subscribedBefore bool                     // the session was subscribed before: a failure takes nothing away
}

// subscribe asks the server for updates of a resource; the client is answered after the server, so a yes
// means that somebody listens. Of an unknown URI no server is asked.
func (s *state) subscribe(x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	uri, found, fault := s.resourceOf(x)
	denied := admission.DeniedIn(s.view, x, found, fault)
	if !s.calls.Retrying() {
		out = admission.CountDenied(denied, s.who, s.key, out)
	}
	if fault != nil {
		out, _ = s.seek(x, fault, denied, out)
		return out
	}
	if len(s.subs)+len(s.subscribing)+len(s.hopes) >= clientsubs.MaxSubscriptions {
		return s.fault(x, &protocol.Fault{Name: protocol.Overloaded, Message: "too many subscriptions in this session"}, out)
	}
	r := clientsubs.Resource{Server: found.Server.Name, URI: found.Original}
	sub, known := s.subs[r]
	if !known && s.lacks(r) > 0 {
		return s.hope(x, r, out)
	}
	own := s.ownOf(found.Server, x)
	switch {
	case !known:
		s.takes(r)
		sub = &clientsubs.Subscription{}
		put(&s.subs, r, sub)
	case sub.Own.KeyOf() != own.KeyOf(): // it has come with other headers: the newest count
		out = append(out, s.unsubscribes(r, sub))
		known = false
	}
	sub.Public, sub.Own = uri, own
	put(&s.subscribedAt, r.Server, clientsubs.LifeOf(found.Server))
	seq := s.calls.Next()
	put(&s.subscribing, seq, subscribing{x, r, own, known})
	return append(out, kernel.Tell(found.Server.Pool, message.SubscribeURI{Who: s.self, Seq: seq, URI: r.URI, Own: own, Unlisted: found.Unlisted}))
}

// unsubscribe ends it; the pool tells the server when nobody else is left.
func (s *state) unsubscribe(x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	_, found, fault := s.resourceOf(x)
	if fault != nil {
		out, _ = s.seek(x, fault, nil, out)
		return out
	}
	r := clientsubs.Resource{Server: found.Server.Name, URI: found.Original}
	s.hopeless(r)
	if sub := s.subs[r]; sub != nil {
		s.forgetSubscription(r)
		out = s.giveBack(append(out, s.unsubscribes(r, sub)))
	}
	return s.result(x, []byte("{}"), out)
}

// unsubscribes tells the pool that the session wants no updates of a resource any more.
func (s *state) unsubscribes(r clientsubs.Resource, sub *clientsubs.Subscription) kernel.Effect {
	return kernel.Tell(s.subscribedAt[r.Server].Pool, message.UnsubscribeURI{Who: s.self, Tenant: sub.Own.KeyOf(), URI: r.URI})
}

// subscribed answers the client with what the server said.
func (s *state) subscribed(m message.SubscribeURIResult, out []kernel.Effect) []kernel.Effect {
	w, ok := s.subscribing[m.Seq]
	if !ok {
		return out
	}
	delete(s.subscribing, m.Seq)
	switch {
	case m.Fault == nil && m.Error == nil:
		return s.result(w.x, []byte("{}"), out)
	case !w.subscribedBefore && s.subs[w.Resource] != nil && s.subs[w.Resource].Own.KeyOf() == w.own.KeyOf():
		s.forgetSubscription(w.Resource)
		out = s.giveBack(out)
	}
	if m.Fault != nil && m.Fault.Name == protocol.ResourceNotFound { // which names it as its server does
		return s.fault(w.x, clientcalls.NoResource(w.x), out)
	}
	if m.Fault != nil {
		return s.fault(w.x, m.Fault, out)
	}
	frame := append([]byte(`{"jsonrpc":"2.0","id":`), w.x.Frame.IDBytes()...)
	frame = append(append(frame, `,"error":`...), m.Error...)
	return append(out, kernel.Act(reply.Answer{X: w.x, Message: protocol.Message{Frame: append(frame, '}')}}))
}

// forgetSubscription drops a subscription and the updates of it that wait for a stream.
func (s *state) forgetSubscription(r clientsubs.Resource) {
	if sub := s.subs[r]; sub != nil {
		s.updatesKept -= len(sub.Due)
		delete(s.subs, r)
		s.leaves(r)
	}
}

// resources are the keys of subs in a fixed order.
func (s *state) resources() []clientsubs.Resource {
	return slices.SortedFunc(maps.Keys(s.subs), clientsubs.Resource.Compare)
}

// resourceOf finds the resource a request's uri names.
func (s *state) resourceOf(x *downstream.Exchange) (string, catalog.Found, *protocol.Fault) {
	uri, ok := rawjson.Unquote(x.Params.URI.Of(x.Frame.Raw))
	if !ok {
		return "", catalog.Found{}, protocol.BadParams("params.uri: want a string")
	}
	found, fault := s.view.Resource(uri)
	return uri, found, fault
}

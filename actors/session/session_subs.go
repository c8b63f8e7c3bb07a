package session

import (
	"cmp"
	"maps"
	"slices"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/transport"
)

// maxSubscriptions is how many resources one session may be subscribed to.
const maxSubscriptions = 10_000

// reportedSubs bounds what one session adds to a picture of the gateway.
const reportedSubs = 1000

// resource names a resource by its server and the server's own URI.
type resource struct{ server, uri string }

// subscription is a resource the client wants updates of.
type subscription struct {
	public string // the URI as the client wrote it; its updates carry the same
	pool   kernel.Reference
	due    *message.ResourceUpdated // an update that no stream has taken yet
}

// subscribing is a resources/subscribe whose server has not answered.
type subscribing struct {
	x *transport.Exchange
	resource
	known bool // the session was subscribed before: a failure takes nothing away
}

// subscribe asks the server for updates of a resource; the client is answered after the server (C10).
// An unknown URI is refused without asking anybody (S0.7.2).
func (s *state) subscribe(x *transport.Exchange, out []effect) []effect {
	uri, found, fault := s.resourceOf(x)
	if fault != nil {
		return s.fault(x, fault, out)
	}
	if len(s.subs)+len(s.subscribing) >= maxSubscriptions {
		return s.fault(x, &protocol.Fault{Name: protocol.Overloaded, Message: "too many subscriptions in this session"}, out)
	}
	r := resource{found.Server.Name, found.Original}
	_, known := s.subs[r]
	s.subs[r] = &subscription{public: uri, pool: found.Server.Pool}
	s.seq++
	s.subscribing[s.seq] = subscribing{x, r, known}
	return append(out, tell(found.Server.Pool, message.SubscribeURI{Who: s.self, Seq: s.seq, URI: r.uri}))
}

// unsubscribe ends it; the pool tells the server when nobody else is left.
func (s *state) unsubscribe(x *transport.Exchange, out []effect) []effect {
	_, found, fault := s.resourceOf(x)
	if fault != nil {
		return s.fault(x, fault, out)
	}
	r := resource{found.Server.Name, found.Original}
	if sub := s.subs[r]; sub != nil {
		delete(s.subs, r)
		out = append(out, tell(sub.pool, message.UnsubscribeURI{Who: s.self, URI: r.uri}))
	}
	return s.result(x, []byte("{}"), out)
}

// subscribed answers the client with what the server said.
func (s *state) subscribed(m message.Subscribed, out []effect) []effect {
	w, ok := s.subscribing[m.Seq]
	if !ok {
		return out
	}
	delete(s.subscribing, m.Seq)
	switch {
	case m.Fault == nil && m.Error == nil:
		return s.result(w.x, []byte("{}"), out)
	case !w.known:
		delete(s.subs, w.resource)
	}
	if m.Fault != nil {
		return s.fault(w.x, m.Fault, out)
	}
	frame := append([]byte(`{"jsonrpc":"2.0","id":`), w.x.Frame.IDBytes()...)
	frame = append(append(frame, `,"error":`...), m.Error...)
	return append(out, act(answer{w.x, append(frame, '}'), false}))
}

// updated tells the client that a resource has changed (S0.7.4), or keeps it until a stream opens.
func (s *state) updated(m message.ResourceUpdated, out []effect) []effect {
	sub := s.subs[resource{m.Server, m.URI}]
	public := ""
	if sub != nil {
		public = sub.public
	} else if sub = s.parentOf(m); sub != nil && s.view != nil {
		public = s.view.PublicURI(s.view.Snapshot().Server(m.Server), m.URI)
	}
	if sub == nil {
		return out
	}
	if len(s.streams) == 0 {
		if sub.due != nil {
			out = append(out, act(coalesced{m.Frame.M}))
		}
		sub.due = &m
		return out
	}
	frame := protocol.AppendEdited(nil, m.Frame.Raw, protocol.Edit{Span: m.Span, With: protocol.Quote(public)})
	return append(out, act(push{streams: s.streams, method: m.Frame.M, frame: frame, newline: m.Frame.Newline, key: public, undelivered: m}))
}

// parentOf finds a subscription to something the updated resource is part of.
func (s *state) parentOf(m message.ResourceUpdated) *subscription {
	for _, r := range s.resources() {
		if r.server == m.Server && len(m.URI) > len(r.uri) && m.URI[:len(r.uri)] == r.uri {
			return s.subs[r]
		}
	}
	return nil
}

// tellUpdates tells what no stream took before.
func (s *state) tellUpdates(out []effect) []effect {
	for _, r := range s.resources() {
		if sub := s.subs[r]; sub.due != nil {
			m := *sub.due
			sub.due = nil
			out = s.updated(m, out)
		}
	}
	return out
}

// resources are the keys of subs in a fixed order.
func (s *state) resources() []resource {
	return slices.SortedFunc(maps.Keys(s.subs), func(a, b resource) int {
		return cmp.Or(cmp.Compare(a.server, b.server), cmp.Compare(a.uri, b.uri))
	})
}

// subscribedPools are the pools that know this session as a subscriber.
func (s *state) subscribedPools() []kernel.Reference {
	var pools []kernel.Reference
	for _, r := range s.resources() {
		if pool := s.subs[r].pool; !slices.Contains(pools, pool) {
			pools = append(pools, pool)
		}
	}
	return pools
}

// resourceOf finds the resource a request's uri names.
func (s *state) resourceOf(x *transport.Exchange) (string, catalog.Found, *protocol.Fault) {
	uri, ok := protocol.Unquote(x.Params.URI.Of(x.Frame.Raw))
	if !ok {
		return "", catalog.Found{}, protocol.BadParams("params.uri: want a string")
	}
	found, fault := s.view.Resource(uri)
	return uri, found, fault
}

// reportSubs is what people are told of subscriptions: at most reportedSubs of a client.
func reportSubs(session string, subs map[resource]*subscription) []status.Subscription {
	var all []status.Subscription
	for r, sub := range subs {
		if len(all) == reportedSubs {
			break
		}
		all = append(all, status.Subscription{Session: session, Server: r.server, URI: sub.public, OwnURI: r.uri})
	}
	return all
}

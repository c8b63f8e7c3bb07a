package pool

import (
	"maps"
	"slices"
	"strings"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// grace is how long a resource stays subscribed upstream after its last subscriber has left.
const grace = 2 * time.Second

// subscription is one resource somebody wants updates of: subscribed once upstream, whatever the number of
// subscribers (requirements.md C6).
type subscription struct {
	subscribers map[kernel.Reference]bool
	waiting     []message.SubscribeURI // whose request is not answered yet: the server has not said yes
	query       uint64                 // of the subscribe that is under way; 0 = none
	active      bool                   // the server has said yes
	empty       bool                   // an unsubscribe is due
}

// subscribe counts a subscriber; the first one subscribes upstream. An update may overtake the server's yes, so the
// subscriber is recorded before (C10).
func (s *state) subscribe(m message.SubscribeURI, out []effect) []effect {
	sub := s.subs[m.URI]
	if sub == nil {
		sub = &subscription{subscribers: map[kernel.Reference]bool{}}
		s.subs[m.URI] = sub
	}
	sub.empty = false
	sub.subscribers[m.Who] = true
	if sub.active {
		return append(out, tell(m.Who, message.Subscribed{Seq: m.Seq}))
	}
	sub.waiting = append(sub.waiting, m)
	if sub.query != 0 {
		return out
	}
	return s.subscribeUpstream(m.URI, sub, out)
}

func (s *state) subscribeUpstream(uri string, sub *subscription, out []effect) []effect {
	leader := s.leader()
	if leader == nil || leader.phase != message.Ready {
		fault := &protocol.Fault{Name: s.unavailableName(), Server: s.server.Name, Retryable: true, Message: s.whyUnavailable()}
		return s.subscribeFailed(uri, message.Subscribed{Fault: fault}, out)
	}
	s.lastQuery++
	sub.query = s.lastQuery
	s.queries[sub.query] = uri
	return append(out, tell(leader.ref, message.Query{Key: sub.query, Method: protocol.MethodResourcesSubscribe, Params: uriParams(uri)}))
}

func uriParams(uri string) []byte {
	return append(protocol.AppendQuoted([]byte(`{"uri":`), uri), '}')
}

// queried takes the server's answer to a subscribe.
func (s *state) queried(m message.Queried, out []effect) []effect {
	uri, ok := s.queries[m.Key]
	if !ok {
		return out
	}
	delete(s.queries, m.Key)
	sub := s.subs[uri]
	if sub == nil || sub.query != m.Key {
		return out
	}
	sub.query = 0
	switch {
	case m.Fault != nil:
		return s.subscribeFailed(uri, message.Subscribed{Fault: m.Fault}, out)
	case m.Frame.Kind == protocol.KindError:
		return s.subscribeFailed(uri, message.Subscribed{Error: m.Frame.ErrorBytes()}, out)
	}
	sub.active = true
	for _, w := range sub.waiting {
		out = append(out, tell(w.Who, message.Subscribed{Seq: w.Seq}))
	}
	sub.waiting = nil
	return out
}

// subscribeFailed answers those who wait and forgets them (S0.9.3); earlier subscribers, of before a reconnect, stay.
func (s *state) subscribeFailed(uri string, answer message.Subscribed, out []effect) []effect {
	sub := s.subs[uri]
	for _, w := range sub.waiting {
		answer.Seq = w.Seq
		out = append(out, tell(w.Who, answer))
		delete(sub.subscribers, w.Who)
	}
	sub.waiting, sub.active = nil, false
	if len(sub.subscribers) == 0 {
		delete(s.subs, uri)
	}
	return out
}

// unsubscribe forgets a subscriber; the last one to leave ends it upstream after a grace.
func (s *state) unsubscribe(who kernel.Reference, uri string, out []effect) []effect {
	sub := s.subs[uri]
	if sub == nil || !sub.subscribers[who] {
		return out
	}
	delete(sub.subscribers, who)
	sub.waiting = slices.DeleteFunc(sub.waiting, func(w message.SubscribeURI) bool { return w.Who == who })
	if len(sub.subscribers) > 0 || sub.empty {
		return out
	}
	sub.empty = true
	return append(out, act(wakeAfter{grace, unsubscribeDue{uri}}))
}

func (s *state) unsubscribeAll(who kernel.Reference, out []effect) []effect {
	for _, uri := range slices.Sorted(maps.Keys(s.subs)) {
		out = s.unsubscribe(who, uri, out)
	}
	return out
}

func (s *state) unsubscribeDue(m unsubscribeDue, out []effect) []effect {
	sub := s.subs[m.uri]
	if sub == nil || !sub.empty || len(sub.subscribers) > 0 {
		return out
	}
	delete(s.subs, m.uri)
	leader := s.leader()
	if !sub.active && sub.query == 0 || leader == nil || leader.phase != message.Ready {
		return out
	}
	s.lastQuery++
	return append(out, tell(leader.ref, message.Query{Key: s.lastQuery, Method: protocol.MethodResourcesUnsubscribe, Params: uriParams(m.uri)}))
}

// updated goes to everybody who subscribed to the URI, and to nobody else. A server may name a sub-resource of what
// was subscribed (MCP 2025-11-25, server/resources, subscriptions).
func (s *state) updated(m message.Updated, out []effect) []effect {
	told := map[kernel.Reference]bool{}
	for _, uri := range slices.Sorted(maps.Keys(s.subs)) {
		if uri != m.URI && !strings.HasPrefix(m.URI, strings.TrimSuffix(uri, "/")+"/") {
			continue
		}
		for who := range s.subs[uri].subscribers {
			if told[who] {
				continue
			}
			told[who] = true
			out = append(out, tell(who, message.ResourceUpdated{Server: s.server.Name, URI: m.URI, Frame: m.Frame, Span: m.Span}))
		}
	}
	return out
}

// heal subscribes again after a reconnect and tells every subscriber that its resource may have changed meanwhile.
func (s *state) heal(out []effect) []effect {
	for _, uri := range slices.Sorted(maps.Keys(s.subs)) {
		sub := s.subs[uri]
		was := sub.active
		sub.active = false
		out = s.subscribeUpstream(uri, sub, out)
		if !was {
			continue
		}
		if u, ok := message.UpdatedURI(uri); ok {
			out = s.updated(u, out)
		}
	}
	return out
}

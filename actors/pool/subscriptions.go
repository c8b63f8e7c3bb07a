package pool

import (
	"cmp"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

const (
	grace            = 2 * time.Second // a resource stays subscribed upstream for so long after its last subscriber has left
	maxQueries       = 128             // subscribes and unsubscribes of a tenant under way at once: the others wait, and calls find room beside them
	maxStreamQueries = 512             // likewise, of a modern server, which is asked for many by one stream
)

// subKey names a subscription: what one tenant has subscribed to on its own connections is no other's.
type subKey struct {
	tenant string // "" = on those that are for everybody
	uri    string // the server's own
}

func (k subKey) compare(other subKey) int {
	return cmp.Or(cmp.Compare(k.tenant, other.tenant), cmp.Compare(k.uri, other.uri))
}

// sortedKeys are those of the subscriptions that match, in an order that is the same in every run.
func (s *state) sortedKeys(match func(subKey, *subscription) bool) (keys []subKey) {
	for key, sub := range s.subs {
		if match(key, sub) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, subKey.compare)
	return keys
}

// subscription is one resource somebody wants updates of: subscribed once upstream, however many
// subscribers it has.
type subscription struct {
	own         *message.ConnectionOwner // on whose connections; nil = those that are for everybody
	subscribers kernel.Crowd
	waiting     []waiter // whose request is not answered yet, oldest first
	at          *slot    // whose server has said yes; nil = nobody tells of changes
	query       uint64   // of what is under way: a subscribe, or, when ending, an unsubscribe; 0 = nothing
	ending      bool
	queued      bool // it stands in state.turns
	missed      bool // nobody told of changes for a while: its subscribers hear that there may have been some
	refused     bool // by the server, since its last yes: its subscribers know that they may have missed something
	empty       bool // an unsubscribe is due after the grace
	armed       bool // the grace's timer runs
	renewed     bool // since it was set somebody came and left: it counts anew
}

// waiter is a subscriber who waits for the server's answer.
type waiter struct {
	message.SubscribeURI
	known bool      // it was subscribed before: a failure takes nothing away
	until time.Time // it gets its answer by then, whatever the server does
}

func (sub *subscription) wanted() bool { return sub.subscribers.Len()+len(sub.waiting) > 0 }

// subscription is that of a key, begun if there is none. Who came last says what its connections are to be like.
func (s *state) subscription(key subKey, own *message.ConnectionOwner) *subscription {
	sub := s.subs[key]
	if sub == nil {
		sub = &subscription{}
		s.subs[key] = sub
		s.subscribed[key.tenant]++
	}
	sub.own, sub.empty = own, false
	return sub
}

// forgetSubscription takes one out of the books.
func (s *state) forgetSubscription(key subKey) {
	delete(s.subs, key)
	if s.subscribed[key.tenant]--; s.subscribed[key.tenant] == 0 {
		delete(s.subscribed, key.tenant)
	}
}

// subscribe counts a subscriber; the first one subscribes upstream. An update may overtake the server's yes, so the
// subscriber is noted before.
func (s *state) subscribe(now time.Time, m message.SubscribeURI, out []kernel.Effect) []kernel.Effect {
	key := subKey{m.Own.KeyOf(), m.URI}
	if !m.Own.Of().Fits(&s.server) {
		return append(out, kernel.Tell(m.Who, message.SubscribeURIResult{Seq: m.Seq, Fault: s.reloaded()}))
	}
	if m.Unlisted && !s.mentionsTo(key.tenant).has(m.URI) {
		return append(out, kernel.Tell(m.Who, message.SubscribeURIResult{Seq: m.Seq, Fault: protocol.NoResource(m.URI)}))
	}
	out = s.wake(now, out)
	sub := s.subscription(key, m.Own)
	w := waiter{m, sub.subscribers.Has(m.Who), now.Add(s.server.Queue.Timeout)}
	sub.subscribers.Add(m.Who)
	if sub.at != nil && !sub.ending {
		return append(out, kernel.Tell(m.Who, message.SubscribeURIResult{Seq: m.Seq}))
	}
	if m.Hint {
		out = append(out, kernel.Tell(m.Who, message.ResourceKnown{Seq: m.Seq}))
	}
	sub.waiting = append(sub.waiting, w)
	return s.queueTurn(key, sub, out)
}

// resubscribe takes over the subscriptions of somebody whose pool before this one, or before its restart, is no more.
func (s *state) resubscribe(m message.Resubscribe, out []kernel.Effect) []kernel.Effect {
	if !m.Own.Of().Fits(&s.server) {
		return out
	}
	for _, uri := range m.URIs {
		key := subKey{m.Own.KeyOf(), uri}
		sub := s.subscription(key, m.Own)
		sub.subscribers.Add(m.Who)
		switch {
		case sub.at == nil || sub.ending:
			sub.missed = true
			out = s.queueTurn(key, sub, out)
		default:
			if u, ok := message.UpdatedURI(uri); ok {
				out = append(out, kernel.Tell(m.Who, s.resourceUpdated(u)))
			}
		}
	}
	return out
}

// subscribeFailed answers those who wait and forgets them. Who was subscribed before stays: the next connection is
// asked again.
func (s *state) subscribeFailed(key subKey, sub *subscription, answer message.SubscribeURIResult, out []kernel.Effect) []kernel.Effect {
	for _, w := range sub.waiting {
		answer.Seq = w.Seq
		out = append(out, kernel.Tell(w.Who, answer))
		if !w.known {
			sub.subscribers.Remove(w.Who)
		}
	}
	sub.waiting = nil
	if !sub.wanted() {
		s.forgetSubscription(key)
	}
	return out
}

// unsubscribe forgets a subscriber; the last one to leave ends it upstream after a grace. A request of its that is not
// answered yet still is, by the server.
func (s *state) unsubscribe(who kernel.Reference, key subKey, out []kernel.Effect) []kernel.Effect {
	sub := s.subs[key]
	if sub == nil || !sub.subscribers.Remove(who) {
		return out
	}
	for i := range sub.waiting {
		sub.waiting[i].known = sub.waiting[i].known && sub.waiting[i].Who != who
	}
	if sub.wanted() || sub.empty {
		return out
	}
	return s.empty(key, sub, out)
}

func (*state) empty(key subKey, sub *subscription, out []kernel.Effect) []kernel.Effect {
	sub.empty = true
	if sub.armed {
		sub.renewed = true
		return out
	}
	sub.armed = true
	return append(out, kernel.WakeAfter(grace, unsubscribeDue{key}))
}

// unsubscribeAll forgets somebody who has gone, and what it waits for.
func (s *state) unsubscribeAll(who kernel.Reference, out []kernel.Effect) []kernel.Effect {
	its := s.sortedKeys(func(_ subKey, sub *subscription) bool { return sub.subscribers.Has(who) || len(sub.waiting) > 0 })
	for _, key := range its {
		sub := s.subs[key]
		if sub == nil {
			continue
		}
		sub.waiting = slices.DeleteFunc(sub.waiting, func(w waiter) bool { return w.Who == who })
		out = s.unsubscribe(who, key, out)
	}
	return out
}

func (s *state) unsubscribeDue(m unsubscribeDue, out []kernel.Effect) []kernel.Effect {
	sub := s.subs[m.key]
	if sub == nil {
		return out
	}
	again := sub.renewed
	sub.armed, sub.renewed = false, false
	switch {
	case !sub.empty || sub.wanted():
		return out
	case again:
		return s.empty(m.key, sub, out)
	}
	return s.queueTurn(m.key, sub, out)
}

// updatesLost notes that a connection tells of no changes any more: it was lost, or is being replaced.
func (s *state) updatesLost(sl *slot) {
	for _, sub := range s.subs {
		if sub.at == sl {
			sub.at, sub.missed = nil, true
		}
	}
}

// failSubscribes answers all who wait for a subscription: the pool goes.
func (s *state) failSubscribes(out []kernel.Effect) []kernel.Effect {
	for _, key := range s.sortedKeys(func(_ subKey, sub *subscription) bool { return len(sub.waiting) > 0 }) {
		for _, w := range s.subs[key].waiting {
			out = append(out, kernel.Tell(w.Who, message.SubscribeURIResult{Seq: w.Seq, Fault: message.ServerHasGone(s.server.Name)}))
		}
		s.subs[key].waiting = nil
	}
	return out
}

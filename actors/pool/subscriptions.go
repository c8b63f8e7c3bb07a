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
	grace            = 2 * time.Second // how long a resource stays subscribed upstream after its last subscriber has left
	maxQueries       = 128             // subscription requests of a tenant in progress at once; the limit leaves room for calls
	maxStreamQueries = 512             // the same for a modern server, where one stream carries many subscriptions
)

// subKey names a subscription: a URI, for one tenant or for the shared connections.
type subKey struct {
	tenant string // key of the tenant; "" = on shared connections
	uri    string // as the server names it
}

// compare orders keys by tenant and URI.
func (k subKey) compare(other subKey) int {
	return cmp.Or(cmp.Compare(k.tenant, other.tenant), cmp.Compare(k.uri, other.uri))
}

// subscriptions holds the resources that clients subscribed to, and the requests to servers about them.
type subscriptions struct {
	byKey            map[subKey]*subscription
	perTenant        map[string]int      // number of subscriptions, by tenant key; no entry = none
	queries          map[uint64]query    // requests to servers in progress, by key
	queriesPerTenant map[string]int      // number of queries, by tenant key; at most maxQueries or maxStreamQueries each; no entry = none
	turns            map[string][]string // URIs whose next request waits for its turn, by tenant key; no entry = none
	refusals         int                 // retries since a server last accepted a subscription; determines the next pause
	retryArmed       bool                // the timer for the next retry runs
	waitArmed        bool                // the timer for subscribers that wait for a server runs
}

func newSubscriptions() subscriptions {
	return subscriptions{byKey: map[subKey]*subscription{}, perTenant: map[string]int{}, queries: map[uint64]query{}, queriesPerTenant: map[string]int{}, turns: map[string][]string{}}
}

// add returns the subscription of a key, and creates it if needed. The newest subscriber determines which kind of
// connections the subscription uses.
func (all *subscriptions) add(key subKey, own *message.ConnectionOwner) *subscription {
	sub := all.byKey[key]
	if sub == nil {
		sub = &subscription{}
		all.byKey[key] = sub
		all.perTenant[key.tenant]++
	}
	sub.own, sub.unused = own, false
	return sub
}

// forget removes a subscription.
func (all *subscriptions) forget(key subKey) {
	delete(all.byKey, key)
	decrement(all.perTenant, key.tenant)
}

// begin records a request to a server about a subscription.
func (all *subscriptions) begin(key uint64, q query, sub *subscription) {
	sub.query = key
	all.queries[key] = q
	all.queriesPerTenant[q.key.tenant]++
}

// end removes a request and reports whether it was in progress.
func (all *subscriptions) end(key uint64) (query, bool) {
	q, ok := all.queries[key]
	if ok {
		delete(all.queries, key)
		decrement(all.queriesPerTenant, q.key.tenant)
	}
	return q, ok
}

// decrement counts down and drops an entry that reaches zero.
func decrement(counts map[string]int, key string) {
	if counts[key]--; counts[key] == 0 {
		delete(counts, key)
	}
}

// enqueue adds a subscription to the turns of its tenant, once.
func (all *subscriptions) enqueue(key subKey, sub *subscription) {
	if !sub.queued {
		sub.queued = true
		all.turns[key.tenant] = append(all.turns[key.tenant], key.uri)
	}
}

// next removes and returns the tenant's subscription whose turn it is. It returns nil if none waits or the tenant has
// limit queries in progress.
func (all *subscriptions) next(tenant string, limit int) (subKey, *subscription) {
	for all.queriesPerTenant[tenant] < limit && len(all.turns[tenant]) > 0 {
		key := subKey{tenant, all.turns[tenant][0]}
		all.turns[tenant] = all.turns[tenant][1:]
		if sub := all.byKey[key]; sub != nil {
			sub.queued = false
			return key, sub
		}
	}
	if len(all.turns[tenant]) == 0 {
		delete(all.turns, tenant)
	}
	return subKey{}, nil
}

// sortedKeys returns the keys of the subscriptions that match. Sorting makes every run send the same messages.
func (all *subscriptions) sortedKeys(match func(subKey, *subscription) bool) (keys []subKey) {
	for key, sub := range all.byKey {
		if match(key, sub) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, subKey.compare)
	return keys
}

// waitingKeys returns the subscriptions whose subscribers wait for a connection. Such a subscription has no request
// queued or in progress.
func (all *subscriptions) waitingKeys() []subKey {
	return all.sortedKeys(func(_ subKey, sub *subscription) bool {
		return len(sub.waiting) > 0 && sub.query == 0 && !sub.queued && sub.conn == nil
	})
}

// markUpdatesLost records that a connection no longer reports changes, because it was lost or is being replaced.
func (all *subscriptions) markUpdatesLost(conn *connection) {
	for _, sub := range all.byKey {
		if sub.conn == conn {
			sub.conn, sub.missed = nil, true
		}
	}
}

// subscription is one resource that clients subscribed to. It is subscribed upstream once, however many
// subscribers it has.
type subscription struct {
	own           *message.ConnectionOwner // owner of the connections to use; nil = shared ones
	subscribers   kernel.ActorSet
	waiting       []waiter    // subscribers whose request is not answered yet, oldest first
	conn          *connection // the connection that reports changes; nil = none does
	query         uint64      // key of the request in progress: an unsubscribe if ending, else a subscribe; 0 = none
	ending        bool
	queued        bool // it is in subscriptions.turns
	missed        bool // no connection reported changes for a while; its subscribers will be notified
	refused       bool // the server has refused it since last accepting it, and its subscribers were notified
	unused        bool // an unsubscribe is due after the grace period
	graceArmed    bool // the timer of the grace period runs
	graceExtended bool // a subscriber joined and left since the timer was started, so the timer is started again
}

// waiter is a subscriber that waits for the server's answer.
type waiter struct {
	message.SubscribeURI
	known bool      // it was subscribed before, so it stays subscribed after a failure
	until time.Time // deadline for the answer
}

// wanted reports whether the subscription has subscribers.
func (sub *subscription) wanted() bool { return sub.subscribers.Len()+len(sub.waiting) > 0 }

// stepSubscriptions handles clients' subscriptions and servers' notifications of changes.
func (s *state) stepSubscriptions(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.ResourceChanged:
		return s.resourceChanged(m, out)
	case message.AllResourcesChanged:
		return s.allResourcesChanged(m, out)
	case message.QueryResult:
		return s.queryResult(m, out)
	case message.SubscribeURI:
		return s.subscribe(now, m, out)
	case message.Resubscribe:
		return s.resubscribe(m, s.wake(now, out))
	case message.UnsubscribeURI:
		return s.unsubscribe(m.From, subKey{m.Tenant, m.URI}, out)
	case message.UnsubscribeAll:
		return s.unsubscribeAll(m.From, out)
	case retryDue:
		return s.retrySubscriptions(out)
	case subscribesDue:
		return s.subscribesDue(now, out)
	case graceOver:
		return s.graceOver(m, out)
	}
	return out
}

// subscribe adds a subscriber. The first one subscribes upstream. The subscriber is added before the server
// answers, since an update may precede the answer.
func (s *state) subscribe(now time.Time, m message.SubscribeURI, out []kernel.Effect) []kernel.Effect {
	key := subKey{m.Own.KeyOf(), m.URI}
	if !m.Own.Of().Fits(&s.server) {
		return append(out, kernel.Tell(m.From, message.SubscribeURIResult{Seq: m.Seq, Fault: s.isolationChangedFault()}))
	}
	if s.isMisplaced(m.Own.Of()) {
		return append(out, kernel.Tell(m.From, message.SubscribeURIResult{Seq: m.Seq, Fault: s.misplacedFault()}))
	}
	if m.Unlisted && !s.wasMentioned(m.URI, m.Own.Of()) {
		return append(out, kernel.Tell(m.From, message.SubscribeURIResult{Seq: m.Seq, Fault: protocol.NoResource(m.URI)}))
	}
	out = s.wake(now, out)
	sub := s.subscriptions.add(key, m.Own)
	w := waiter{m, sub.subscribers.Has(m.From), now.Add(s.server.Queue.Timeout)}
	sub.subscribers.Add(m.From)
	if sub.conn != nil && !sub.ending {
		return append(out, kernel.Tell(m.From, message.SubscribeURIResult{Seq: m.Seq}))
	}
	if m.Hint {
		out = append(out, kernel.Tell(m.From, message.ResourceKnown{Seq: m.Seq}))
	}
	sub.waiting = append(sub.waiting, w)
	return s.queueTurn(key, sub, out)
}

// subscribeFailed answers the waiting subscribers and forgets them. A client that was subscribed before stays
// subscribed.
func (s *state) subscribeFailed(key subKey, sub *subscription, answer message.SubscribeURIResult, out []kernel.Effect) []kernel.Effect {
	for _, w := range sub.waiting {
		answer.Seq = w.Seq
		out = append(out, kernel.Tell(w.From, answer))
		if !w.known {
			sub.subscribers.Remove(w.From)
		}
	}
	sub.waiting = nil
	if !sub.wanted() {
		s.subscriptions.forget(key)
	}
	return out
}

// unsubscribe removes a subscriber. When the last one leaves, the subscription ends upstream after a grace period. If
// the subscriber's request is still open, it gets the server's answer.
func (s *state) unsubscribe(who kernel.Reference, key subKey, out []kernel.Effect) []kernel.Effect {
	sub := s.subscriptions.byKey[key]
	if sub == nil || !sub.subscribers.Remove(who) {
		return out
	}
	for i := range sub.waiting {
		sub.waiting[i].known = sub.waiting[i].known && sub.waiting[i].From != who
	}
	if sub.wanted() || sub.unused {
		return out
	}
	return s.startGrace(key, sub, out)
}

// startGrace marks a subscription as unused and ends it after the grace period.
func (*state) startGrace(key subKey, sub *subscription, out []kernel.Effect) []kernel.Effect {
	sub.unused = true
	if sub.graceArmed {
		sub.graceExtended = true
		return out
	}
	sub.graceArmed = true
	return append(out, kernel.WakeAfter(grace, graceOver{key}))
}

// unsubscribeAll removes a client that is gone from all subscriptions.
func (s *state) unsubscribeAll(who kernel.Reference, out []kernel.Effect) []kernel.Effect {
	its := s.subscriptions.sortedKeys(func(_ subKey, sub *subscription) bool { return sub.subscribers.Has(who) || len(sub.waiting) > 0 })
	for _, key := range its {
		sub := s.subscriptions.byKey[key]
		if sub == nil {
			continue
		}
		sub.waiting = slices.DeleteFunc(sub.waiting, func(w waiter) bool { return w.From == who })
		out = s.unsubscribe(who, key, out)
	}
	return out
}

// graceOver ends a subscription that was unused for the whole grace period.
func (s *state) graceOver(m graceOver, out []kernel.Effect) []kernel.Effect {
	sub := s.subscriptions.byKey[m.key]
	if sub == nil {
		return out
	}
	again := sub.graceExtended
	sub.graceArmed, sub.graceExtended = false, false
	switch {
	case !sub.unused || sub.wanted():
		return out
	case again:
		return s.startGrace(m.key, sub, out)
	}
	return s.queueTurn(m.key, sub, out)
}

// failSubscribes answers all waiting subscribers when the pool stops.
func (s *state) failSubscribes(out []kernel.Effect) []kernel.Effect {
	for _, key := range s.subscriptions.sortedKeys(func(_ subKey, sub *subscription) bool { return len(sub.waiting) > 0 }) {
		for _, w := range s.subscriptions.byKey[key].waiting {
			out = append(out, kernel.Tell(w.From, message.SubscribeURIResult{Seq: w.Seq, Fault: message.ServerHasGone(s.server.Name)}))
		}
		s.subscriptions.byKey[key].waiting = nil
	}
	return out
}

package pool

import (
	"maps"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

const (
	grace            = 2 * time.Second // a resource stays subscribed upstream for so long after its last subscriber has left
	maxQueries       = 128             // subscribes and unsubscribes under way at once: the others wait, and calls find room beside them
	maxStreamQueries = 512             // likewise, of a modern server, which is asked for many by one stream
)

// subscription is one resource somebody wants updates of: subscribed once upstream, however many
// subscribers it has.
type subscription struct {
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

// query is a question to a server, under way.
type query struct {
	uri string
	at  *slot
}

func (sub *subscription) wanted() bool { return sub.subscribers.Len()+len(sub.waiting) > 0 }

func (s *state) subscription(uri string) *subscription {
	sub := s.subs[uri]
	if sub == nil {
		sub = &subscription{}
		s.subs[uri] = sub
	}
	sub.empty = false
	return sub
}

// subscribe counts a subscriber; the first one subscribes upstream. An update may overtake the server's yes, so the
// subscriber is noted before.
func (s *state) subscribe(now time.Time, m message.SubscribeURI, out []kernel.Effect) []kernel.Effect {
	if s.server.Isolates() {
		return append(out, kernel.Tell(m.Who, message.Subscribed{Seq: m.Seq, Fault: s.noSubscriptions()}))
	}
	if m.Unlisted && !s.mentions.has(m.URI) {
		return append(out, kernel.Tell(m.Who, message.Subscribed{Seq: m.Seq, Fault: protocol.NoResource(m.URI)}))
	}
	out = s.wake(now, out)
	sub := s.subscription(m.URI)
	w := waiter{m, sub.subscribers.Has(m.Who), now.Add(s.server.Queue.Timeout)}
	sub.subscribers.Add(m.Who)
	if sub.at != nil && !sub.ending {
		return append(out, kernel.Tell(m.Who, message.Subscribed{Seq: m.Seq}))
	}
	sub.waiting = append(sub.waiting, w)
	return s.queueTurn(m.URI, sub, out)
}

// resubscribe takes over the subscriptions of somebody whose pool before this one, or before its restart, is no more.
func (s *state) resubscribe(m message.Resubscribe, out []kernel.Effect) []kernel.Effect {
	if s.server.Isolates() {
		return out
	}
	for _, uri := range m.URIs {
		sub := s.subscription(uri)
		sub.subscribers.Add(m.Who)
		switch {
		case sub.at == nil || sub.ending:
			sub.missed = true
			out = s.queueTurn(uri, sub, out)
		default:
			if u, ok := message.UpdatedURI(uri); ok {
				out = append(out, kernel.Tell(m.Who, s.resourceUpdated(u)))
			}
		}
	}
	return out
}

// canAsk reports whether there is a server to be asked for updates now.
func (s *state) canAsk() bool {
	l := s.leader()
	return l != nil && l.phase == message.Ready
}

// noLeader is what a subscriber is told when there is none.
func (s *state) noLeader() *protocol.Fault {
	return s.unavailableFault(s.now, wanted{})
}

// queueTurn has done what is to be done about a subscription when its turn comes.
func (s *state) queueTurn(uri string, sub *subscription, out []kernel.Effect) []kernel.Effect {
	if !sub.queued {
		sub.queued = true
		s.turns = append(s.turns, uri)
	}
	return s.nextTurns(out)
}

// nextTurns asks as much as may be asked at once.
func (s *state) nextTurns(out []kernel.Effect) []kernel.Effect {
	limit := maxQueries
	if l := s.leader(); l != nil && s.modern[l.replica] {
		limit = maxStreamQueries
	}
	for len(s.queries) < limit && len(s.turns) > 0 {
		uri := s.turns[0]
		s.turns = s.turns[1:]
		if sub := s.subs[uri]; sub != nil {
			sub.queued = false
			out = s.takeTurn(uri, sub, out)
		}
	}
	if len(s.turns) == 0 {
		s.turns = nil
	}
	return out
}

// takeTurn asks the server for what a subscription needs now.
func (s *state) takeTurn(uri string, sub *subscription, out []kernel.Effect) []kernel.Effect {
	switch {
	case sub.query != 0: // what comes of it goes on
	case sub.wanted() && sub.at == nil && s.canAsk():
		return s.askServer(uri, sub, s.subscribedAt(uri), protocol.MethodResourcesSubscribe, out)
	case sub.wanted() && sub.at == nil && s.mayLead():
		return s.awaitLeader(sub, out)
	case sub.wanted() && sub.at == nil: // who was subscribed before waits for the next connection
		return s.subscribeFailed(uri, sub, message.Subscribed{Fault: s.noLeader()}, out)
	case sub.wanted():
	case sub.at != nil:
		sub.ending = true
		return s.askServer(uri, sub, sub.at, protocol.MethodResourcesUnsubscribe, out)
	default:
		delete(s.subs, uri)
	}
	return out
}

func (s *state) askServer(uri string, sub *subscription, at *slot, method protocol.Method, out []kernel.Effect) []kernel.Effect {
	s.lastQuery++
	sub.query = s.lastQuery
	s.queries[sub.query] = query{uri, at}
	params := append(protocol.AppendQuoted([]byte(`{"uri":`), uri), '}')
	return append(out, kernel.Tell(at.ref, message.Query{Key: sub.query, Method: method, Params: params}))
}

// queried takes the server's answer.
func (s *state) queried(m message.Queried, out []kernel.Effect) []kernel.Effect {
	q, ok := s.queries[m.Key]
	if !ok {
		return out
	}
	delete(s.queries, m.Key)
	if sub := s.subs[q.uri]; sub != nil && sub.query == m.Key {
		sub.query = 0
		out = s.answered(q, sub, m, out)
	}
	return s.nextTurns(out)
}

// answered goes on with a subscription after the server's answer.
func (s *state) answered(q query, sub *subscription, m message.Queried, out []kernel.Effect) []kernel.Effect {
	lost := q.at.leaving || q.at.phase != message.Ready
	switch {
	case sub.ending:
		sub.ending, sub.at = false, nil
		sub.missed = sub.missed || sub.subscribers.Len() > 0 // who came since has heard of nothing
		return s.queueTurn(q.uri, sub, out)
	case m.Fault != nil && lost && s.canAsk():
		return s.queueTurn(q.uri, sub, out)
	case m.Fault != nil:
		return s.seekYes(sub, s.subscribeFailed(q.uri, sub, message.Subscribed{Fault: m.Fault}, out))
	case m.Frame.Kind == protocol.KindError:
		out = s.subscribeFailed(q.uri, sub, message.Subscribed{Error: m.Frame.ErrorBytes()}, out)
		if !sub.refused {
			out = s.tellMissed(q.uri, sub, out)
		}
		if code, _ := protocol.ErrorNumber(&m.Frame); code == -32601 { // it will never know the method
			return out
		}
		return s.seekYes(sub, out)
	}
	sub.refused, s.refusals = false, 0
	for _, w := range sub.waiting {
		out = append(out, kernel.Tell(w.Who, message.Subscribed{Seq: w.Seq}))
	}
	sub.waiting = nil
	if lost {
		sub.missed = true
		return s.queueTurn(q.uri, sub, out)
	}
	sub.at = q.at
	out = s.tellMissed(q.uri, sub, out)
	sub.missed = false
	if !sub.wanted() {
		return s.empty(q.uri, sub, out)
	}
	return out
}

// Pauses before a server is asked again for what it has refused: the first, then twice that each, and the longest.
const (
	askAgainFirst = time.Second
	askAgainMost  = 5 * time.Minute
)

// seekYes has the server asked again, after a pause, for a subscription that it has refused although clients rely on it: they
// were told yes by it, or by another replica, and would never hear of a change. One clock runs for all of them.
func (s *state) seekYes(sub *subscription, out []kernel.Effect) []kernel.Effect {
	if !sub.wanted() {
		return out
	}
	if sub.refused, sub.missed = true, true; s.askingAgain {
		return out
	}
	s.askingAgain = true
	pause := min(askAgainFirst<<min(s.refusals, 20), askAgainMost)
	s.refusals++
	return append(out, kernel.WakeAfter(pause, askAgain{}))
}

// askAgain asks for what was refused.
func (s *state) askAgain(out []kernel.Effect) []kernel.Effect {
	s.askingAgain = false
	return s.askForLostUpdates(out)
}

// subscribeFailed answers those who wait and forgets them. Who was subscribed before stays: the next connection is
// asked again.
func (s *state) subscribeFailed(uri string, sub *subscription, answer message.Subscribed, out []kernel.Effect) []kernel.Effect {
	for _, w := range sub.waiting {
		answer.Seq = w.Seq
		out = append(out, kernel.Tell(w.Who, answer))
		if !w.known {
			sub.subscribers.Remove(w.Who)
		}
	}
	sub.waiting = nil
	if !sub.wanted() {
		delete(s.subs, uri)
	}
	return out
}

func (s *state) tellMissed(uri string, sub *subscription, out []kernel.Effect) []kernel.Effect {
	if u, ok := message.UpdatedURI(uri); ok && sub.missed {
		return s.updated(u, out)
	}
	return out
}

// unsubscribe forgets a subscriber; the last one to leave ends it upstream after a grace. A request of its that is not
// answered yet still is, by the server.
func (s *state) unsubscribe(who kernel.Reference, uri string, out []kernel.Effect) []kernel.Effect {
	sub := s.subs[uri]
	if sub == nil || !sub.subscribers.Remove(who) {
		return out
	}
	for i := range sub.waiting {
		sub.waiting[i].known = sub.waiting[i].known && sub.waiting[i].Who != who
	}
	if sub.wanted() || sub.empty {
		return out
	}
	return s.empty(uri, sub, out)
}

func (*state) empty(uri string, sub *subscription, out []kernel.Effect) []kernel.Effect {
	sub.empty = true
	if sub.armed {
		sub.renewed = true
		return out
	}
	sub.armed = true
	return append(out, kernel.WakeAfter(grace, unsubscribeDue{uri}))
}

// unsubscribeAll forgets somebody who has gone, and what it waits for.
func (s *state) unsubscribeAll(who kernel.Reference, out []kernel.Effect) []kernel.Effect {
	var its []string
	for uri, sub := range s.subs {
		if sub.subscribers.Has(who) || len(sub.waiting) > 0 {
			its = append(its, uri)
		}
	}
	slices.Sort(its) // what is told has an order, in every run the same
	for _, uri := range its {
		sub := s.subs[uri]
		if sub == nil {
			continue
		}
		sub.waiting = slices.DeleteFunc(sub.waiting, func(w waiter) bool { return w.Who == who })
		out = s.unsubscribe(who, uri, out)
	}
	return out
}

func (s *state) unsubscribeDue(m unsubscribeDue, out []kernel.Effect) []kernel.Effect {
	sub := s.subs[m.uri]
	if sub == nil {
		return out
	}
	again := sub.renewed
	sub.armed, sub.renewed = false, false
	switch {
	case !sub.empty || sub.wanted():
		return out
	case again:
		return s.empty(m.uri, sub, out)
	}
	return s.queueTurn(m.uri, sub, out)
}

// updated goes to everybody who subscribed to the URI or to what it is a part of, and to nobody else.
func (s *state) updated(m message.Updated, out []kernel.Effect) []kernel.Effect {
	var update any = s.resourceUpdated(m) // one for all
	var notified []*subscription
	for uri := range message.Covering(m.URI) {
		sub := s.subs[uri]
		if sub == nil {
			continue
		}
		for _, who := range sub.subscribers.All() {
			if !slices.ContainsFunc(notified, func(t *subscription) bool { return t.subscribers.Has(who) }) {
				out = append(out, kernel.Tell(who, update))
			}
		}
		notified = append(notified, sub)
	}
	return out
}

func (s *state) resourceUpdated(m message.Updated) message.ResourceUpdated {
	return message.ResourceUpdated{Server: s.server.Name, URI: m.URI, Frame: m.Frame, Span: m.Span}
}

// allUpdated tells every subscriber that its resource may have changed: the server named too many to say which.
func (s *state) allUpdated(out []kernel.Effect) []kernel.Effect {
	for _, uri := range slices.Sorted(maps.Keys(s.subs)) {
		if u, ok := message.UpdatedURI(uri); ok {
			out = s.updated(u, out)
		}
	}
	return out
}

// updatesLost notes that a connection tells of no changes any more: it was lost, or is being replaced.
func (s *state) updatesLost(sl *slot) {
	for _, sub := range s.subs {
		if sub.at == sl {
			sub.at, sub.missed = nil, true
		}
	}
}

// takeBackQueries takes the questions back that a backend has forgotten.
func (s *state) takeBackQueries(sl *slot, out []kernel.Effect) []kernel.Effect {
	for _, key := range slices.Sorted(maps.Keys(s.queries)) {
		if s.queries[key].at == sl {
			out = s.queried(message.Queried{Key: key, Fault: s.noLeader()}, out)
		}
	}
	return out
}

// askForLostUpdates asks the server that leads now for what nobody tells of.
func (s *state) askForLostUpdates(out []kernel.Effect) []kernel.Effect {
	if !s.canAsk() {
		return out
	}
	var unheld []string
	for uri, sub := range s.subs {
		if sub.at == nil && sub.query == 0 && !sub.queued {
			unheld = append(unheld, uri)
		}
	}
	slices.Sort(unheld)
	for _, uri := range unheld {
		if sub := s.subs[uri]; sub != nil {
			out = s.queueTurn(uri, sub, out)
		}
	}
	return out
}

// failSubscribes answers all who wait for a subscription: the pool goes.
func (s *state) failSubscribes(out []kernel.Effect) []kernel.Effect {
	for _, uri := range slices.Sorted(maps.Keys(s.subs)) {
		for _, w := range s.subs[uri].waiting {
			out = append(out, kernel.Tell(w.Who, message.Subscribed{Seq: w.Seq, Fault: message.ServerHasGone(s.server.Name)}))
		}
		s.subs[uri].waiting = nil
	}
	return out
}

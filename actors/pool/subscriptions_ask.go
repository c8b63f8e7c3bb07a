package pool

import (
	"maps"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// query is a question to a server, under way.
type query struct {
	key subKey
	at  *slot
}

// canAsk reports whether there is a server to be asked for updates now.
func (s *state) canAsk() bool {
	l := s.leader()
	return l != nil && l.phase == message.Ready
}

// noLeader is what a subscriber is told when there is none.
func (s *state) noLeader(tenant string) *protocol.Fault {
	return s.unavailableFault(s.now, wanted{tenant: tenant})
}

// queueTurn has done what is to be done about a subscription when its turn comes.
func (s *state) queueTurn(key subKey, sub *subscription, out []kernel.Effect) []kernel.Effect {
	if !sub.queued {
		sub.queued = true
		s.turns[key.tenant] = append(s.turns[key.tenant], key.uri)
	}
	return s.nextTurns(key.tenant, out)
}

// nextTurns asks as much for a tenant as may be asked at once: one whose server does not answer keeps no other waiting.
func (s *state) nextTurns(tenant string, out []kernel.Effect) []kernel.Effect {
	limit := maxQueries
	if l := s.leader(); l != nil && s.modern[l.replica] {
		limit = maxStreamQueries
	}
	for s.asking[tenant] < limit && len(s.turns[tenant]) > 0 {
		key := subKey{tenant, s.turns[tenant][0]}
		s.turns[tenant] = s.turns[tenant][1:]
		if sub := s.subs[key]; sub != nil {
			sub.queued = false
			out = s.takeTurn(key, sub, out)
		}
	}
	if len(s.turns[tenant]) == 0 {
		delete(s.turns, tenant)
	}
	return out
}

// takeTurn asks the server for what a subscription needs now.
func (s *state) takeTurn(key subKey, sub *subscription, out []kernel.Effect) []kernel.Effect {
	switch {
	case sub.query != 0: // what comes of it goes on
	case sub.wanted() && sub.at == nil:
		return s.askForUpdates(key, sub, out)
	case sub.wanted():
	case sub.at != nil:
		sub.ending = true
		return s.askServer(key, sub, sub.at, protocol.MethodResourcesUnsubscribe, out)
	default:
		s.forgetSubscription(key)
	}
	return out
}

// askForUpdates asks for what nobody tells of, or has its subscribers wait for who can be asked.
func (s *state) askForUpdates(key subKey, sub *subscription, out []kernel.Effect) []kernel.Effect {
	at := s.subscribedAt(key)
	if at == nil {
		out = s.growForSubscriber(key, sub, out)
	}
	switch {
	case at != nil:
		return s.askServer(key, sub, at, protocol.MethodResourcesSubscribe, out)
	case s.mayAnswer(key.tenant):
		return s.awaitLeader(sub, out)
	}
	out = s.subscribeFailed(key, sub, message.SubscribeURIResult{Fault: s.noLeader(key.tenant)}, out)
	if key.tenant != "" && sub.wanted() && !s.hasOwn(key.tenant) {
		return s.askAgainLater(out)
	}
	return out
}

func (s *state) askServer(key subKey, sub *subscription, at *slot, method protocol.Method, out []kernel.Effect) []kernel.Effect {
	s.lastQuery++
	sub.query, at.used = s.lastQuery, s.now
	s.queries[sub.query] = query{key, at}
	s.asking[key.tenant]++
	params := append(protocol.AppendQuoted([]byte(`{"uri":`), key.uri), '}')
	return append(out, kernel.Tell(at.ref, message.Query{Key: sub.query, Method: method, Params: params}))
}

// queried takes the server's answer.
func (s *state) queried(m message.QueryResult, out []kernel.Effect) []kernel.Effect {
	q, ok := s.queries[m.Key]
	if !ok {
		return out
	}
	delete(s.queries, m.Key)
	if s.asking[q.key.tenant]--; s.asking[q.key.tenant] == 0 {
		delete(s.asking, q.key.tenant)
	}
	if sub := s.subs[q.key]; sub != nil && sub.query == m.Key {
		sub.query = 0
		out = s.answered(q, sub, m, out)
	}
	return s.nextTurns(q.key.tenant, out)
}

// answered goes on with a subscription after the server's answer.
func (s *state) answered(q query, sub *subscription, m message.QueryResult, out []kernel.Effect) []kernel.Effect {
	lost := q.at.leaving || q.at.phase != message.Ready
	switch {
	case sub.ending:
		sub.ending, sub.at = false, nil
		sub.missed = sub.missed || sub.subscribers.Len() > 0 // who came since has heard of nothing
		return s.queueTurn(q.key, sub, out)
	case m.Fault != nil && lost && (q.key.tenant != "" || s.canAsk()): // a tenant gets another connection
		return s.queueTurn(q.key, sub, out)
	case m.Fault != nil:
		return s.seekYes(sub, s.subscribeFailed(q.key, sub, message.SubscribeURIResult{Fault: m.Fault}, out))
	case m.Frame.Kind == protocol.KindError:
		out = s.subscribeFailed(q.key, sub, message.SubscribeURIResult{Error: m.Frame.ErrorBytes()}, out)
		if !sub.refused {
			out = s.tellMissed(q.key, sub, out)
		}
		if code, _ := protocol.ErrorNumber(&m.Frame); code == -32601 { // it will never know the method
			return out
		}
		return s.seekYes(sub, out)
	}
	sub.refused, s.refusals = false, 0
	for _, w := range sub.waiting {
		out = append(out, kernel.Tell(w.Who, message.SubscribeURIResult{Seq: w.Seq}))
	}
	sub.waiting = nil
	if lost {
		sub.missed = true
		return s.queueTurn(q.key, sub, out)
	}
	sub.at = q.at
	out = s.tellMissed(q.key, sub, out)
	sub.missed = false
	if !sub.wanted() {
		return s.empty(q.key, sub, out)
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
	sub.refused, sub.missed = true, true
	return s.askAgainLater(out)
}

// askAgainLater sets the clock after which all is asked for again that nobody tells of.
func (s *state) askAgainLater(out []kernel.Effect) []kernel.Effect {
	if s.askingAgain {
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

// takeBackQueries takes the questions back that a backend has forgotten.
func (s *state) takeBackQueries(sl *slot, out []kernel.Effect) []kernel.Effect {
	for _, key := range slices.Sorted(maps.Keys(s.queries)) {
		if q := s.queries[key]; q.at == sl {
			out = s.queried(message.QueryResult{Key: key, Fault: s.noLeader(q.key.tenant)}, out)
		}
	}
	return out
}

// askForLostUpdates asks those who can be asked now for what nobody tells of. Who waits for a connection of its own that cannot be had is
// told so when its turn comes.
func (s *state) askForLostUpdates(out []kernel.Effect) []kernel.Effect {
	if len(s.subs) == 0 {
		return out
	}
	out = s.growForSubscribers(out)
	can := map[string]bool{"": s.canAsk()}
	for _, sl := range s.slots {
		can[sl.tenant.KeyOf()] = can[sl.tenant.KeyOf()] || sl.tenant != nil && s.canAnswer(sl.tenant.Key)
	}
	unheld := s.sortedKeys(func(key subKey, sub *subscription) bool {
		if sub.at != nil || sub.query != 0 || sub.queued {
			return false
		}
		return can[key.tenant] || key.tenant != "" && len(sub.waiting) > 0 && !s.mayAnswer(key.tenant)
	})
	for _, key := range unheld {
		if sub := s.subs[key]; sub != nil {
			out = s.queueTurn(key, sub, out)
		}
	}
	return out
}

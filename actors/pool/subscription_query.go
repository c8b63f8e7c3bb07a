package pool

import (
	"maps"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// query is a request to a server about a subscription.
type query struct {
	key  subKey
	conn *connection
}

// noLeaderFault returns the fault for a subscriber when there is no connection to subscribe on.
func (s *state) noLeaderFault(tenant string) *protocol.Fault {
	return s.unavailableFault(s.now, target{tenant: tenant})
}

// queueTurn queues the next request of a subscription, and sends it if the tenant's limit permits.
func (s *state) queueTurn(key subKey, sub *subscription, out []kernel.Effect) []kernel.Effect {
	s.subscriptions.enqueue(key, sub)
	return s.runTurns(key.tenant, out)
}

// runTurns sends a tenant's queued requests, as long as fewer are in progress than the limit. If the server does not
// answer one tenant, other tenants are not delayed.
func (s *state) runTurns(tenant string, out []kernel.Effect) []kernel.Effect {
	limit := maxQueries
	if l := s.replicas.leader(); l != nil && s.replicas.eras.modern[l.replica] {
		limit = maxStreamQueries
	}
	for {
		key, sub := s.subscriptions.next(tenant, limit)
		if sub == nil {
			return out
		}
		out = s.takeTurn(key, sub, out)
	}
}

// takeTurn sends the request that a subscription needs now.
func (s *state) takeTurn(key subKey, sub *subscription, out []kernel.Effect) []kernel.Effect {
	switch {
	case sub.query != 0: // continues when the response arrives
	case sub.wanted() && sub.conn == nil:
		return s.subscribeUpstream(key, sub, out)
	case sub.wanted():
	case sub.conn != nil:
		sub.ending = true
		return s.query(key, sub, sub.conn, protocol.MethodResourcesUnsubscribe, out)
	default:
		s.subscriptions.forget(key)
	}
	return out
}

// subscribeUpstream subscribes to a resource that no connection reports on, or makes its subscribers wait for a
// connection.
func (s *state) subscribeUpstream(key subKey, sub *subscription, out []kernel.Effect) []kernel.Effect {
	at := s.connectionFor(key)
	if at == nil {
		out = s.addForSubscriber(key, sub, out)
	}
	switch {
	case at != nil:
		return s.query(key, sub, at, protocol.MethodResourcesSubscribe, out)
	case s.maySubscribeLater(key.tenant):
		return s.armWaitTimer(sub, out)
	}
	out = s.subscribeFailed(key, sub, message.SubscribeURIResult{Fault: s.noLeaderFault(key.tenant)}, out)
	if key.tenant != "" && sub.wanted() && !s.replicas.hasConnection(key.tenant) {
		return s.retryLater(out)
	}
	return out
}

// query sends a server a request about a subscription.
func (s *state) query(key subKey, sub *subscription, at *connection, method protocol.Method, out []kernel.Effect) []kernel.Effect {
	s.lastKey++
	s.subscriptions.begin(s.lastKey, query{key, at}, sub)
	at.usedAt = s.now
	params := append(rawjson.AppendQuoted([]byte(`{"uri":`), key.uri), '}')
	return append(out, kernel.Tell(at.ref, message.Query{Key: sub.query, Method: method, Params: params}))
}

// queryResult handles a server's answer to a request about a subscription.
func (s *state) queryResult(m message.QueryResult, out []kernel.Effect) []kernel.Effect {
	q, ok := s.subscriptions.end(m.Key)
	if !ok {
		return out
	}
	if sub := s.subscriptions.byKey[q.key]; sub != nil && sub.query == m.Key {
		sub.query = 0
		out = s.subscriptionAnswered(q, sub, m, out)
	}
	return s.runTurns(q.key.tenant, out)
}

// subscriptionAnswered continues a subscription after the server's answer.
func (s *state) subscriptionAnswered(q query, sub *subscription, m message.QueryResult, out []kernel.Effect) []kernel.Effect {
	lost := q.conn.leaving || q.conn.phase != message.Ready
	switch {
	case sub.ending:
		sub.ending, sub.conn = false, nil
		sub.missed = sub.missed || sub.subscribers.Len() > 0 // subscribers that joined during the unsubscribe may have missed changes
		return s.queueTurn(q.key, sub, out)
	case m.Fault != nil && lost && (q.key.tenant != "" || s.replicas.hasReadyLeader()): // retried on another connection
		return s.queueTurn(q.key, sub, out)
	case m.Fault != nil:
		return s.retryRefused(sub, s.subscribeFailed(q.key, sub, message.SubscribeURIResult{Fault: m.Fault}, out))
	case m.Frame.Kind == protocol.KindError:
		out = s.subscribeFailed(q.key, sub, message.SubscribeURIResult{Error: m.Frame.ErrorBytes()}, out)
		if !sub.refused {
			out = s.notifyMissed(q.key, sub, out)
		}
		if code, _ := protocol.ErrorNumber(&m.Frame); code == -32601 { // method not found: no retry
			return out
		}
		return s.retryRefused(sub, out)
	}
	sub.refused, s.subscriptions.refusals = false, 0
	for _, w := range sub.waiting {
		out = append(out, kernel.Tell(w.From, message.SubscribeURIResult{Seq: w.Seq}))
	}
	sub.waiting = nil
	if lost {
		sub.missed = true
		return s.queueTurn(q.key, sub, out)
	}
	sub.conn = q.conn
	out = s.notifyMissed(q.key, sub, out)
	sub.missed = false
	if !sub.wanted() {
		return s.startGrace(q.key, sub, out)
	}
	return out
}

// Pauses before a refused subscription is tried again. Each pause is twice the previous one, up to maxRetryPause.
const (
	firstRetryPause = time.Second
	maxRetryPause   = 5 * time.Minute
)

// failQueriesOf fails the requests of a backend that was restarted or has stopped.
func (s *state) failQueriesOf(conn *connection, out []kernel.Effect) []kernel.Effect {
	for _, key := range slices.Sorted(maps.Keys(s.subscriptions.queries)) {
		if q := s.subscriptions.queries[key]; q.conn == conn {
			out = s.queryResult(message.QueryResult{Key: key, Fault: s.noLeaderFault(q.key.tenant)}, out)
		}
	}
	return out
}

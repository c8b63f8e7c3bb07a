package pool

import (
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// subscribesDue reports that a subscriber may have waited too long for a server.
type subscribesDue struct{}

// maySubscribeLater reports whether a connection that can carry a tenant's subscriptions will soon be ready. The tenant
// "" stands for the shared connections. A tenant without a connection gets one when the server is ready.
func (s *state) maySubscribeLater(tenant string) bool {
	none := tenant != "" && !s.replicas.hasConnection(tenant)
	return slices.ContainsFunc(s.replicas.connections, func(conn *connection) bool {
		of := conn.tenant.KeyOf() == tenant && (tenant != "" || conn.main) || none && conn.main
		return of && !conn.leaving && conn.soonReady(s.now)
	})
}

// armWaitTimer starts the timer for subscribers that wait for a connection, unless it runs. They wait for at most
// queue.timeout, as calls do. When a connection is ready, restoreSubscriptions subscribes for them.
func (s *state) armWaitTimer(sub *subscription, out []kernel.Effect) []kernel.Effect {
	if len(sub.waiting) == 0 || s.subscriptions.waitArmed {
		return out
	}
	s.subscriptions.waitArmed = true
	return append(s.raiseStartPriority(out), kernel.WakeAfter(sub.waiting[0].until.Sub(s.now), subscribesDue{}))
}

// subscribesDue answers the subscribers that have waited too long.
func (s *state) subscribesDue(now time.Time, out []kernel.Effect) []kernel.Effect {
	s.subscriptions.waitArmed = false
	next := time.Time{}
	for _, key := range s.subscriptions.waitingKeys() {
		sub := s.subscriptions.byKey[key]
		for len(sub.waiting) > 0 && !now.Before(sub.waiting[0].until) {
			w := sub.waiting[0]
			sub.waiting = sub.waiting[1:]
			if !w.known {
				sub.subscribers.Remove(w.From)
			}
			out = append(out, kernel.Tell(w.From, message.SubscribeURIResult{Seq: w.Seq, Fault: s.queueTimeoutFault(now)}))
		}
		switch {
		case !sub.wanted():
			s.subscriptions.forget(key)
		case len(sub.waiting) > 0 && (next.IsZero() || sub.waiting[0].until.Before(next)):
			next = sub.waiting[0].until
		}
	}
	if next.IsZero() {
		return out
	}
	s.subscriptions.waitArmed = true
	return append(out, kernel.WakeAfter(next.Sub(now), subscribesDue{}))
}

// failWaitingSubscribes answers the subscribers that wait for a connection if none will soon be ready.
func (s *state) failWaitingSubscribes(out []kernel.Effect) []kernel.Effect {
	for _, key := range s.subscriptions.waitingKeys() {
		if !s.canSubscribe(key.tenant) && !s.maySubscribeLater(key.tenant) {
			out = s.subscribeFailed(key, s.subscriptions.byKey[key], message.SubscribeURIResult{Fault: s.noLeaderFault(key.tenant)}, out)
		}
	}
	return out
}

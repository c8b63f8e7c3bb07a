package pool

import (
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// subscribesDue: a subscriber may have waited too long for a server.
type subscribesDue struct{}

// mayAnswer reports whether there will be a connection on which a tenant's subscriptions, or everybody's, can be asked for, as far as
// anybody can tell (slot.comes). A tenant without one gets it when the server is there.
func (s *state) maySubscribeLater(tenant string) bool {
	none := tenant != "" && !s.replicas.hasConnection(tenant)
	return slices.ContainsFunc(s.replicas.connections, func(conn *connection) bool {
		of := conn.tenant.KeyOf() == tenant && (tenant != "" || conn.main) || none && conn.main
		return of && !conn.leaving && conn.isComing(s.now)
	})
}

// awaitLeader lets who subscribes wait for the server, as a call does. The next that leads is asked for all that nobody tells of.
func (s *state) armWaitTimer(sub *subscription, out []kernel.Effect) []kernel.Effect {
	if len(sub.waiting) == 0 || s.subscriptions.waitArmed {
		return out
	}
	s.subscriptions.waitArmed = true
	return append(s.raiseStartPriority(out), kernel.WakeAfter(sub.waiting[0].until.Sub(s.now), subscribesDue{}))
}

// subscribesDue answers who has waited too long for a server.
func (s *state) subscribesDue(now time.Time, out []kernel.Effect) []kernel.Effect {
	s.subscriptions.waitArmed = false
	next := time.Time{}
	for _, key := range s.subscriptions.waitingKeys() {
		sub := s.subscriptions.byKey[key]
		for len(sub.waiting) > 0 && !now.Before(sub.waiting[0].until) {
			w := sub.waiting[0]
			sub.waiting = sub.waiting[1:]
			if !w.known {
				sub.subscribers.Remove(w.Who)
			}
			out = append(out, kernel.Tell(w.Who, message.SubscribeURIResult{Seq: w.Seq, Fault: s.queueTimeoutFault(now)}))
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

// failWaitingSubscribes answers who waits for a server, when none comes.
func (s *state) failWaitingSubscribes(out []kernel.Effect) []kernel.Effect {
	for _, key := range s.subscriptions.waitingKeys() {
		if !s.canSubscribe(key.tenant) && !s.maySubscribeLater(key.tenant) {
			out = s.subscribeFailed(key, s.subscriptions.byKey[key], message.SubscribeURIResult{Fault: s.noLeaderFault(key.tenant)}, out)
		}
	}
	return out
}

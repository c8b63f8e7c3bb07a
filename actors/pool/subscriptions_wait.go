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
func (s *state) mayAnswer(tenant string) bool {
	none := tenant != "" && !s.hasOwn(tenant)
	return slices.ContainsFunc(s.slots, func(sl *slot) bool {
		of := sl.tenant.KeyOf() == tenant && (tenant != "" || sl.main) || none && sl.main
		return of && !sl.leaving && sl.comes(s.now)
	})
}

// awaitLeader lets who subscribes wait for the server, as a call does. The next that leads is asked for all that nobody tells of.
func (s *state) awaitLeader(sub *subscription, out []kernel.Effect) []kernel.Effect {
	if len(sub.waiting) == 0 || s.awaiting {
		return out
	}
	s.awaiting = true
	return append(s.hurry(out), kernel.WakeAfter(sub.waiting[0].until.Sub(s.now), subscribesDue{}))
}

// subscribesDue answers who has waited too long for a server.
func (s *state) subscribesDue(now time.Time, out []kernel.Effect) []kernel.Effect {
	s.awaiting = false
	next := time.Time{}
	for _, key := range s.awaitingKeys() {
		sub := s.subs[key]
		for len(sub.waiting) > 0 && !now.Before(sub.waiting[0].until) {
			w := sub.waiting[0]
			sub.waiting = sub.waiting[1:]
			if !w.known {
				sub.subscribers.Remove(w.Who)
			}
			out = append(out, kernel.Tell(w.Who, message.SubscribeURIResult{Seq: w.Seq, Fault: s.waitedTooLong(now)}))
		}
		switch {
		case !sub.wanted():
			s.forgetSubscription(key)
		case len(sub.waiting) > 0 && (next.IsZero() || sub.waiting[0].until.Before(next)):
			next = sub.waiting[0].until
		}
	}
	if next.IsZero() {
		return out
	}
	s.awaiting = true
	return append(out, kernel.WakeAfter(next.Sub(now), subscribesDue{}))
}

// failWaitingSubscribes answers who waits for a server, when none comes.
func (s *state) failWaitingSubscribes(out []kernel.Effect) []kernel.Effect {
	for _, key := range s.awaitingKeys() {
		if !s.canAnswer(key.tenant) && !s.mayAnswer(key.tenant) {
			out = s.subscribeFailed(key, s.subs[key], message.SubscribeURIResult{Fault: s.noLeader(key.tenant)}, out)
		}
	}
	return out
}

// awaitingKeys are those of subscriptions with a subscriber who waits while no server is being asked.
func (s *state) awaitingKeys() []subKey {
	return s.sortedKeys(func(_ subKey, sub *subscription) bool {
		return len(sub.waiting) > 0 && sub.query == 0 && !sub.queued && sub.at == nil
	})
}

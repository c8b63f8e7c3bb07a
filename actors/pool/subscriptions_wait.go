package pool

import (
	"maps"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// subscribesDue: a subscriber may have waited too long for a server.
type subscribesDue struct{}

// mayLead reports whether there will be a server to be asked for updates, as far as anybody can tell (slot.comes).
func (s *state) mayLead() bool {
	return slices.ContainsFunc(s.slots, func(sl *slot) bool { return sl.main && !sl.leaving && sl.comes(s.now) })
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
	for _, uri := range s.awaitingURIs() {
		sub := s.subs[uri]
		for len(sub.waiting) > 0 && !now.Before(sub.waiting[0].until) {
			w := sub.waiting[0]
			sub.waiting = sub.waiting[1:]
			if !w.known {
				sub.subscribers.Remove(w.Who)
			}
			out = append(out, kernel.Tell(w.Who, message.Subscribed{Seq: w.Seq, Fault: s.waitedTooLong(now)}))
		}
		switch {
		case !sub.wanted():
			delete(s.subs, uri)
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
	if s.canAsk() || s.mayLead() {
		return out
	}
	for _, uri := range s.awaitingURIs() {
		out = s.subscribeFailed(uri, s.subs[uri], message.Subscribed{Fault: s.noLeader()}, out)
	}
	return out
}

// awaitingURIs are those with a subscriber who waits while no server is being asked, in an order that is the same in every run.
func (s *state) awaitingURIs() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.subs)), func(uri string) bool {
		sub := s.subs[uri]
		return len(sub.waiting) == 0 || sub.query != 0 || sub.queued || sub.at != nil
	})
}

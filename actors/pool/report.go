package pool

import (
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

// shown is the phase of a backend as people are told it.
func (sl *slot) shown() message.Phase {
	if sl.phase == message.Ready && !sl.offered {
		return message.Syncing
	}
	return sl.phase
}

// report is what the pool tells people.
func (s *state) report() status.Server {
	r := status.Server{
		Name: s.server.Name, State: string(message.Idle), InFlight: len(s.running), Parked: s.parked + s.waiting, Queued: s.queue.len(), Description: s.server.Description,
		Tools: s.counts[protocol.Tools], Prompts: s.counts[protocol.Prompts], Resources: s.counts[protocol.Resources], Templates: s.counts[protocol.Templates],
		Settled: s.settled || s.cached, FailedFirst: s.failed,
	}
	r.Warnings = s.warnings()
	for _, sub := range s.subs {
		r.Subscribers += sub.subscribers.Len()
		if sub.at != nil {
			r.Subscribed++
		}
	}
	if s.fault != "" {
		r.State, r.Reason, r.Hint = string(message.Misconfigured), s.fault, "mend the configuration: goblin-actor config check"
		return r
	}
	for _, sl := range s.slots {
		if sl.leaving || !sl.main {
			continue
		}
		r.Replicas++
		if sl.shown() == message.Ready {
			r.ReadyCount++
		}
		if r.State != string(message.Ready) {
			r.State, r.Reason, r.NextAttempt = string(sl.shown()), message.Explain(sl.reason, sl.lastLine), sl.nextAttempt
		}
	}
	if s.isLazy() && s.asleep() {
		r.Replicas, r.Reason, r.Hint = s.replicas(), s.rest.why(), "it is lazy: whoever wants something of it starts it"
	}
	if s.cached {
		r.CachedSince = s.remembered.catalog.At
		r.Reason = joined(r.Reason, "catalog cached, of "+r.CachedSince.Format("2006-01-02 15:04"))
	}
	switch r.State {
	case string(message.NeedsLogin):
		r.Hint = "the server wants credentials: set its headers in the configuration"
	case string(message.Waiting):
		r.Hint = "it is tried again by itself; goblin-actor doctor says what to do, goblin-actor restart " + s.server.Name + " tries at once"
	}
	return r
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

package pool

import (
	"time"

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

// reasonShown says why a backend is as it is, and whether that is a fault: it is not there, and either an attempt has failed, also if
// another one is under way, or the first takes long.
func (sl *slot) reasonShown(now time.Time) (reason string, fault bool) {
	switch sl.shown() {
	case message.Ready:
		return message.Explain(sl.reason, sl.lastLine), false
	case message.Idle, message.Waiting, message.NeedsLogin:
		if sl.asks {
			reason = sl.awaits()
		}
		if sl.explained != "" && reason != "" {
			reason += "; before: "
		}
		return reason + sl.explained, sl.explained != ""
	}
	reason, long := message.Starting(sl.shown(), now.Sub(sl.since), sl.explained)
	return reason, long || sl.explained != ""
}

// report is what the pool tells people.
func (s *state) report() status.Server {
	r := status.Server{
		Name: s.server.Name, State: string(message.Idle), InFlight: len(s.running), Parked: s.parked + s.waiting, Queued: s.queue.len(), Description: s.server.Description,
		Tools: s.counts[protocol.Tools], Prompts: s.counts[protocol.Prompts], Resources: s.counts[protocol.Resources], Templates: s.counts[protocol.Templates],
		Settled: s.settled || s.cached, FailedFirst: s.failed,
	}
	r.Warnings = s.warnings()
	r.TimedOut, _ = s.timeoutsIn(s.now)
	if warning := s.timeoutsWarning(s.now); warning != "" {
		r.Warnings = append(r.Warnings, warning)
	}
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
	ready := map[int]bool{}
	for _, sl := range s.slots {
		if sl.leaving || !sl.main {
			continue
		}
		if !sl.retiring {
			r.Replicas++
		}
		if sl.shown() == message.Ready && !ready[sl.replica] && r.ReadyCount < s.replicas() {
			ready[sl.replica] = true
			r.ReadyCount++
		}
		fault := false
		if r.State != string(message.Ready) {
			r.State, r.NextAttempt = string(sl.shown()), sl.nextAttempt
			r.Reason, fault = sl.reasonShown(s.now)
			r.Public = sl.reason
		}
		r.Fault = r.Fault || fault
	}
	if s.isLazy() && s.asleep() {
		r.Replicas, r.Reason, r.Hint = s.replicas(), s.rest.why(), "it is lazy: whoever wants something of it starts it"
		r.Fault = r.Reason != ""
	}
	if known := s.remembered.catalog; s.cached && known != nil {
		r.CachedSince = known.At
		r.Reason = joined(r.Reason, "catalog cached, of "+r.CachedSince.Format("2006-01-02 15:04"))
	}
	switch r.State {
	case string(message.NeedsLogin):
		r.Hint = s.loginHint()
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

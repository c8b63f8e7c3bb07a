package pool

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

// visiblePhase returns the phase as it is reported. A backend counts as ready only when clients see its catalog.
func (conn *connection) visiblePhase() message.Phase {
	if conn.phase == message.Ready && !conn.catalog.visible {
		return message.Syncing
	}
	return conn.phase
}

// visibleReason returns why a backend is in its phase, and whether that is a fault. It is a fault if the backend is not
// ready and an attempt has failed or is taking long.
func (conn *connection) visibleReason(now time.Time) (reason string, fault bool) {
	switch conn.visiblePhase() {
	case message.Ready:
		return message.Explain(conn.reason, conn.lastLine), false
	case message.Idle, message.Waiting, message.NeedsLogin:
		if conn.start.requested {
			reason = conn.waitsFor()
		}
		return message.WithFailure(reason, conn.attempts.detail), conn.attempts.detail != ""
	}
	reason, long := message.Starting(conn.visiblePhase(), now.Sub(conn.since), conn.attempts.detail)
	return reason, long || conn.attempts.detail != ""
}

// lease returns whether this node or another one has the lease of the server. It returns "" for a server without run: one, and outside
// a cluster.
func (s *state) lease() string {
	switch {
	case s.server.Run != config.RunOne || s.tenants.nodes == nil:
		return ""
	case s.server.Hop != "":
		return status.LeaseElsewhere
	}
	return status.LeaseHere
}

// report returns the server's status for operators.
func (s *state) report() status.Server {
	r := status.Server{
		Name: s.server.Name, State: string(message.Idle), InFlight: len(s.calls.running), Parked: s.calls.parked + s.calls.waiting, Queued: s.calls.queue.len(), Description: s.server.Description,
		Tools: s.catalog.counts[protocol.Tools], Prompts: s.catalog.counts[protocol.Prompts], Resources: s.catalog.counts[protocol.Resources], Templates: s.catalog.counts[protocol.Templates],
		Settled: s.settled || s.catalog.fromMemory, FailedFirst: s.failed,
	}
	r.Warnings, r.QueueWaits, r.Lease = s.warnings(), s.queueWaits(), s.lease()
	s.lastError.report(s.now, &r)
	r.TimedOut, _ = s.recentTimeouts(s.now)
	if warning := s.timeoutsWarning(s.now); warning != "" {
		r.Warnings = append(r.Warnings, warning)
	}
	for _, sub := range s.subscriptions.byKey {
		r.Subscribers += sub.subscribers.Len()
		if sub.conn != nil {
			r.Subscribed++
		}
	}
	if s.fault != "" {
		r.State, r.Reason, r.Hint = string(message.Misconfigured), s.fault, "fix the configuration: run goblin-actor config check"
		return r
	}
	ready := map[int]bool{}
	for _, conn := range s.replicas.connections {
		if conn.leaving || !conn.main {
			continue
		}
		if !conn.retiring {
			r.Replicas++
		}
		if conn.visiblePhase() == message.Ready && !ready[conn.replica] && r.ReadyCount < s.replicaCount() {
			ready[conn.replica] = true
			r.ReadyCount++
		}
		if r.State != string(message.Ready) {
			r.State, r.NextAttempt = string(conn.visiblePhase()), conn.nextAttempt
			r.Reason, r.Fault = conn.visibleReason(s.now)
			r.Public = conn.reason
		}
	}
	if s.isLazy() && s.isStopped() {
		r.Replicas, r.Reason, r.Hint = s.replicaCount(), s.idle.explain(), "the server is lazy; the next request starts it"
		r.Fault = r.Reason != ""
	}
	if known := s.catalog.remembered.catalog; s.catalog.fromMemory && known != nil {
		r.CachedSince = known.At
		r.Reason = joined(r.Reason, "catalog cached at "+r.CachedSince.Format("2006-01-02 15:04"))
	}
	switch r.State {
	case string(message.NeedsLogin):
		r.Hint = s.loginHint()
	case string(message.Waiting):
		r.Hint = "the gateway retries by itself; run goblin-actor doctor for the cause, or goblin-actor restart " + s.server.Name + " to retry now"
	}
	return r
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// warnings returns warnings for operators about replicas that differ from each other.
func (s *state) warnings() []string {
	var list []string
	for _, replica := range slices.Sorted(maps.Keys(s.replicas.tools.deviating)) {
		whose := fmt.Sprintf("replica %d", replica)
		if entry, own, _ := s.server.Replica(replica); len(s.server.Members) > 0 {
			whose = entry.Name
			if entry.ReplicaCount() > 1 {
				whose = fmt.Sprintf("%s@%d", entry.Name, own)
			}
		}
		list = append(list, fmt.Sprintf("%s gets no calls to tools that it lacks or defines differently from the catalog: %s", whose, joinNames(s.replicas.tools.deviating[replica])))
	}
	return list
}

package pool

import (
	"maps"
	"net/textproto"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// Connections of tenants carry the calls of one client, one user, or of those who have sent the same headers, and of nobody else. What
// the server lists comes from the main connections, which carry none of these calls.

// tenant is what is kept of one while it has connections.
type tenant struct {
	mentions mentions // what the server has named to it
	level    protocol.Level
	holder   kernel.Reference // its session, if it is one; else zero
}

// tenantsDue: connections of tenants, or logins of lanes, may have been idle for long enough.
type tenantsDue struct{}

// mentionsTo are the resources that the server has named to whoever makes such a request.
func (s *state) mentionsTo(key string) *mentions {
	if key == "" {
		return &s.mentions
	}
	if t := s.tenants[key]; t != nil {
		return &t.mentions
	}
	return &mentions{}
}

// asker is for whom a connection is made.
type asker struct {
	tenant *message.Tenant // nil = everybody
	modern bool            // its era
	who    kernel.Reference
}

// spawnFor starts a connection of a class for whoever makes a request.
func (s *state) spawnFor(now time.Time, sl *slot, by asker, out []kernel.Effect) []kernel.Effect {
	if of := by.tenant; of != nil {
		sl.tenant, sl.used = of, now
		if s.tenants[of.Key] == nil {
			t := &tenant{level: of.Level}
			if of.Client != "" && !by.modern {
				t.holder = by.who
			}
			s.tenants[of.Key] = t
		}
		out = s.tend(out)
	}
	return s.spawnSlot(now, sl, out)
}

// entryFor is how a slot's server is reached: with the headers that its tenant's clients have sent, in place of its own of the same
// names. A program has no headers.
func entryFor(sl *slot, entry *config.Server) config.Server {
	if sl.tenant == nil || len(sl.tenant.Headers) == 0 || len(entry.URLs) == 0 {
		return *entry
	}
	with := *entry
	with.Headers = map[string]string{}
	for name, value := range entry.Headers {
		if _, replaced := sl.tenant.Headers[textproto.CanonicalMIMEHeaderKey(name)]; !replaced {
			with.Headers[name] = value
		}
	}
	maps.Copy(with.Headers, sl.tenant.Headers)
	return with
}

// growFor starts a connection for a tenant, who has one of each class: at the replica with the fewest of them. When there are as many
// as may be, one that nobody uses now makes room.
func (s *state) growFor(now time.Time, w wanted, by asker, out []kernel.Effect) []kernel.Effect {
	count, all := map[int]int{}, 0
	for _, sl := range s.slots {
		if sl.leaving || sl.tenant == nil {
			continue
		}
		if s.serves(w, sl) && w.replicaIs(sl) {
			return out // it has one, which comes, or is busy, or cannot be had
		}
		all++
		count[sl.replica]++
	}
	fewest := -1
	for replica := range s.replicas() {
		entry, _, runs := s.server.Replica(replica)
		if runs && w.mayBe(replica, entry.Labels) && !s.deviations[replica][w.tool] && (fewest < 0 || count[replica] < count[fewest]) {
			fewest = replica
		}
	}
	if fewest < 0 {
		return out
	}
	if all >= s.server.MaxBackends {
		idle := s.idlest(w.tenant)
		if idle == nil {
			return out
		}
		out = s.dismiss(idle, out)
	}
	can, legacy := s.classOf(w, fewest)
	return s.spawnFor(now, &slot{replica: fewest, can: can, legacy: legacy}, by, out)
}

// idlest is the connection of another tenant that was used least recently, of those that carry nothing, that nobody waits for, and whose
// tenant has no subscription; nil = there is none.
func (s *state) idlest(key string) *slot {
	busy, awaited := s.busySlots(), map[string]bool{key: true}
	for _, q := range s.queue.calls {
		awaited[q.Request.Tenant.KeyOf()] = true
	}
	var idle *slot
	for _, sl := range s.slots {
		if sl.tenant == nil || sl.leaving || busy[sl] || awaited[sl.tenant.Key] || s.subscribed[sl.tenant.Key] > 0 {
			continue
		}
		if idle == nil || sl.used.Before(idle.used) {
			idle = sl
		}
	}
	return idle
}

// busySlots are those that have calls, also such as wait.
func (s *state) busySlots() map[*slot]bool {
	busy := map[*slot]bool{}
	for _, r := range s.running {
		busy[r.at] = true
	}
	for _, w := range s.loginWaits {
		for _, sl := range s.slots {
			busy[sl] = busy[sl] || sl.tenant.KeyOf() == w.Request.Tenant.KeyOf()
		}
	}
	return busy
}

// isFull reports whether a tenant without a connection of the class that is wanted cannot have one now.
func (s *state) isFull(w wanted) bool {
	if w.tenant == "" {
		return false
	}
	n := 0
	for _, sl := range s.slots {
		if sl.tenant != nil && !sl.leaving {
			if s.serves(w, sl) && w.replicaIs(sl) {
				return false
			}
			n++
		}
	}
	return n >= s.server.MaxBackends
}

// wantsLevel tells a tenant's connections the log level that its client has set since.
func (s *state) wantsLevel(of *message.Tenant, out []kernel.Effect) []kernel.Effect {
	t := s.tenants[of.KeyOf()]
	if t == nil || t.level == of.Level {
		return out
	}
	t.level = of.Level
	for _, sl := range s.slots {
		if sl.tenant.KeyOf() == of.Key && !sl.leaving {
			out = append(out, kernel.Tell(sl.ref, message.SetLevel{Level: of.Level}))
		}
	}
	return out
}

// levelFor is the log level that a connection is told.
func (s *state) levelFor(sl *slot) protocol.Level {
	if sl.tenant == nil {
		return s.level
	}
	if t := s.tenants[sl.tenant.Key]; t != nil {
		return t.level
	}
	return protocol.LevelNone
}

// logged passes on a line that belongs to no call: from a tenant's connection to its session, or its principal's sessions, alone.
func (s *state) logged(m message.ServerLog, out []kernel.Effect) []kernel.Effect {
	sl := s.slotOf(m.Backend)
	switch {
	case sl == nil: // it has gone, and nobody knows any more whose it was
		return out
	case sl.tenant == nil:
		return append(out, kernel.Tell(s.gateway, m))
	}
	if t := s.tenants[sl.tenant.Key]; t != nil && !t.holder.IsZero() {
		return append(out, kernel.Tell(t.holder, m))
	}
	if m.Principal = sl.tenant.Who; m.Principal != "" {
		out = append(out, kernel.Tell(s.gateway, m))
	}
	return out
}

// clientGone ends the connections of a client that has left. Its subscriptions have ended before (message.UnsubscribeAll).
func (s *state) clientGone(m message.ClientGone, out []kernel.Effect) []kernel.Effect {
	for _, sl := range s.slots {
		if sl.tenant != nil && sl.tenant.Client == m.Client && !sl.leaving {
			out = s.dismiss(sl, out)
		}
	}
	return out
}

// principals ends the connections of those who are nobody any more: their calls have been cancelled, and what their credentials opened closes.
func (s *state) principals(m message.Principals, out []kernel.Effect) []kernel.Effect {
	for _, sl := range s.slots {
		if sl.tenant != nil && m.Revoked(sl.tenant.Who, sl.tenant.Epoch) && !sl.leaving {
			out = s.dismiss(sl, out)
		}
	}
	return out
}

// forgetTenant forgets a tenant without connections.
func (s *state) forgetTenant(of *message.Tenant) {
	if of == nil {
		return
	}
	for _, sl := range s.slots {
		if sl.tenant.KeyOf() == of.KeyOf() && !sl.leaving {
			return
		}
	}
	delete(s.tenants, of.KeyOf())
}

// tend has the connections and logins of tenants looked at when the first may have been idle for long enough.
func (s *state) tend(out []kernel.Effect) []kernel.Effect {
	if s.tending || s.limits.SessionIdle <= 0 {
		return out
	}
	s.tending = true
	return append(out, kernel.WakeAfter(min(s.limits.SessionIdle, laneIdle), tenantsDue{}))
}

// tenantsDue ends the connections that nobody has used for limits.sessionIdle: no client without a session says that it leaves. So it does with
// logins that have none.
func (s *state) tenantsDue(now time.Time, out []kernel.Effect) []kernel.Effect {
	s.tending = false
	busy := s.busySlots()
	out, next := s.loginsDue(now, out)
	for _, sl := range s.slots {
		if sl.tenant == nil || sl.leaving {
			continue
		}
		idle := s.idleAfter(sl.tenant)
		until := sl.used.Add(idle)
		if busy[sl] || s.subscribed[sl.tenant.Key] > 0 {
			until = now.Add(idle)
		} else if !now.Before(until) {
			out = s.dismiss(sl, out)
			continue
		}
		if next.IsZero() || until.Before(next) {
			next = until
		}
	}
	if next.IsZero() {
		return out
	}
	s.tending = true
	return append(out, kernel.WakeAfter(next.Sub(now), tenantsDue{}))
}

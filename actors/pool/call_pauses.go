package pool

import (
	"fmt"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

const (
	longestPause = 5 * time.Minute // longer pauses requested by a server are cut to this
	maxPauses    = 1024            // maximum number of pauses at a time; beyond it, a 429 response only fails its own call
)

// pauses records which connections get no calls for a while because the server answered HTTP 429 (Too Many Requests).
// Servers count requests by account, so a pause covers all connections of a tenant to a replica. An entry is removed
// when its pause is over.
type pauses struct {
	until   map[pauseKey]time.Time
	timer   uint64    // number of the newest timer; older ones are ignored
	firesAt time.Time // when the timer fires; zero = none runs
}

// pauseKey names the connections whose requests a server counts together.
type pauseKey struct {
	replica int
	tenant  string // key of the tenant; "" = shared connections
}

// pauseDue reports that a pause may be over.
type pauseDue struct{ timer uint64 }

func pauseOf(conn *connection) pauseKey { return pauseKey{conn.replica, conn.tenant.KeyOf()} }

// end returns when the pause of a connection is over; zero if there is none.
func (p *pauses) end(now time.Time, conn *connection) time.Time {
	if len(p.until) == 0 { // the usual case
		return time.Time{}
	}
	if until := p.until[pauseOf(conn)]; now.Before(until) {
		return until
	}
	return time.Time{}
}

// beginPause begins a pause or extends it. It never shortens a pause, and ignores a new one beyond maxPauses.
func (s *state) beginPause(now time.Time, conn *connection, d time.Duration, out []kernel.Effect) []kernel.Effect {
	key, until := pauseOf(conn), now.Add(min(d, longestPause))
	if _, is := s.calls.pauses.until[key]; !is && len(s.calls.pauses.until) >= maxPauses || !until.After(s.calls.pauses.until[key]) {
		return out
	}
	if s.calls.pauses.until == nil {
		s.calls.pauses.until = map[pauseKey]time.Time{}
	}
	s.calls.pauses.until[key] = until
	return s.armPauseTimer(now, out)
}

// armPauseTimer starts a timer for the pause that ends first, unless one already runs for that time.
func (s *state) armPauseTimer(now time.Time, out []kernel.Effect) []kernel.Effect {
	var first time.Time
	for _, until := range s.calls.pauses.until {
		if first.IsZero() || until.Before(first) {
			first = until
		}
	}
	if first.IsZero() || first.Equal(s.calls.pauses.firesAt) {
		return out
	}
	s.calls.pauses.timer++
	s.calls.pauses.firesAt = first
	return append(out, kernel.WakeAfter(first.Sub(now), pauseDue{s.calls.pauses.timer}))
}

// pauseDue removes the pauses that are over and sends the queued calls that can now run.
func (s *state) pauseDue(now time.Time, m pauseDue, out []kernel.Effect) []kernel.Effect {
	if m.timer != s.calls.pauses.timer {
		return out
	}
	s.calls.pauses.firesAt = time.Time{}
	for key, until := range s.calls.pauses.until {
		if !now.Before(until) {
			delete(s.calls.pauses.until, key)
		}
	}
	return s.armPauseTimer(now, s.sendQueued(now, out))
}

// pausedUntil returns when the first suitable ready connection may be used again, if all such connections are paused.
// Otherwise it returns zero.
func (s *state) pausedUntil(now time.Time, w target) time.Time {
	var first time.Time
	if len(s.calls.pauses.until) == 0 { // the usual case
		return first
	}
	for _, conn := range s.replicas.connections {
		if conn.phase != message.Ready || conn.leaving || conn.lost || !s.matchesClass(w, conn) || !w.allows(conn) || s.definesDifferently(w, conn) {
			continue
		}
		until := s.calls.pauses.end(now, conn)
		if until.IsZero() {
			return time.Time{}
		}
		if first.IsZero() || until.Before(first) {
			first = until
		}
	}
	return first
}

// rateLimitedFault returns the fault of a call whose queue deadline comes before the end of the pause.
func (s *state) rateLimitedFault(now, until time.Time) *protocol.Fault {
	wait := until.Sub(now)
	return &protocol.Fault{Name: protocol.RateLimited, Server: s.server.Name, Retryable: true, RetryAfter: wait,
		Message: fmt.Sprintf("server %s answered HTTP 429 (Too Many Requests) to an earlier request; this one was not sent; retry after %s", s.server.Name, message.Seconds(max(wait, time.Second)))}
}

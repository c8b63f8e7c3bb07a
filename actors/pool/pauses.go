package pool

import (
	"fmt"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

const (
	longestPause = 5 * time.Minute // a server is tried again after that, whatever it asked for
	mostPauses   = 1024            // beyond it a server's 429 costs the call that received it, and holds back no other
)

// pauses holds calls back from servers that answered HTTP 429 (Too Many Requests). Servers count requests by account, so a pause
// covers all connections of a tenant to a replica. An entry is removed when its pause is over.
type pauses struct {
	until map[pauseKey]time.Time
	timer uint64    // of the newest timer; older ones are ignored
	wakes time.Time // when it fires; zero = none runs
}

// pauseKey names whom a server counts together.
type pauseKey struct {
	replica int
	tenant  string // key of the tenant; "" = shared connections
}

// pauseDue is the end of a pause.
type pauseDue struct{ timer uint64 }

func pauseOf(sl *slot) pauseKey { return pauseKey{sl.replica, sl.tenant.KeyOf()} }

// end returns when the pause of a connection is over; zero if there is none.
func (p *pauses) end(now time.Time, sl *slot) time.Time {
	if len(p.until) == 0 { // the usual case
		return time.Time{}
	}
	if until := p.until[pauseOf(sl)]; now.Before(until) {
		return until
	}
	return time.Time{}
}

// pause begins a pause, or extends it.
func (s *state) pause(now time.Time, sl *slot, d time.Duration, out []kernel.Effect) []kernel.Effect {
	key, until := pauseOf(sl), now.Add(min(d, longestPause))
	if _, is := s.pauses.until[key]; !is && len(s.pauses.until) >= mostPauses || !until.After(s.pauses.until[key]) {
		return out
	}
	if s.pauses.until == nil {
		s.pauses.until = map[pauseKey]time.Time{}
	}
	s.pauses.until[key] = until
	return s.wakeForPauses(now, out)
}

// wakeForPauses starts the timer for the pause that ends first, unless it runs already.
func (s *state) wakeForPauses(now time.Time, out []kernel.Effect) []kernel.Effect {
	var first time.Time
	for _, until := range s.pauses.until {
		if first.IsZero() || until.Before(first) {
			first = until
		}
	}
	if first.IsZero() || first.Equal(s.pauses.wakes) {
		return out
	}
	s.pauses.timer++
	s.pauses.wakes = first
	return append(out, kernel.WakeAfter(first.Sub(now), pauseDue{s.pauses.timer}))
}

// pauseDue removes the pauses that are over and sends the calls that waited for that.
func (s *state) pauseDue(now time.Time, m pauseDue, out []kernel.Effect) []kernel.Effect {
	if m.timer != s.pauses.timer {
		return out
	}
	s.pauses.wakes = time.Time{}
	for key, until := range s.pauses.until {
		if !now.Before(until) {
			delete(s.pauses.until, key)
		}
	}
	return s.wakeForPauses(now, s.pump(now, out))
}

// heldBack returns when the first of the connections that could serve such calls may be used again, if pauses hold back all of them;
// else zero.
func (s *state) heldBack(now time.Time, w wanted) time.Time {
	var first time.Time
	if len(s.pauses.until) == 0 { // the usual case
		return first
	}
	for _, sl := range s.slots {
		if sl.phase != message.Ready || sl.leaving || sl.lost || !s.serves(w, sl) || !w.replicaIs(sl) || s.differs(w, sl) {
			continue
		}
		until := s.pauses.end(now, sl)
		if until.IsZero() {
			return time.Time{}
		}
		if first.IsZero() || until.Before(first) {
			first = until
		}
	}
	return first
}

// rateLimited refuses a call that would wait for the end of a pause longer than it may.
func (s *state) rateLimited(now, until time.Time) *protocol.Fault {
	wait := until.Sub(now)
	return &protocol.Fault{Name: protocol.RateLimited, Server: s.server.Name, Retryable: true, RetryAfter: wait,
		Message: fmt.Sprintf("server %s answered HTTP 429 (Too Many Requests) to an earlier request; this one was not sent; retry after %s", s.server.Name, message.Seconds(max(wait, time.Second)))}
}

package pool

import (
	"fmt"
	"log/slog"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

const (
	timeoutsShown  = 10 * time.Minute // how long a timeout is shown in the server's status
	maxTimeouts    = 100              // maximum number of timeouts that are remembered
	timeoutWarning = time.Minute      // minimum interval between two warnings
)

// timeouts remembers the calls that the server did not answer in time. A server that hangs stays ready, so its
// timeouts are the only sign of the problem.
type timeouts struct {
	recent  []time.Time // oldest first
	warned  time.Time   // when the newest warning was logged
	pending int         // timeouts since that warning
	armed   bool        // a timer runs for the next warning
}

// timeoutsDue reports that the next warning about timeouts is due.
type timeoutsDue struct{}

// recordTimeout records a call that timed out. It logs a warning, unless one was logged less than a minute ago. In that
// case, it counts the timeout for a warning at the end of that minute.
func (s *state) recordTimeout(now time.Time, out []kernel.Effect) []kernel.Effect {
	t := &s.calls.timeouts
	if len(t.recent) == maxTimeouts {
		t.recent = append(t.recent[:0], t.recent[1:]...)
	}
	t.recent = append(t.recent, now)
	t.pending++
	wait := t.warned.Add(timeoutWarning).Sub(now)
	switch {
	case t.armed:
		return out
	case wait > 0:
		t.armed = true
		return append(out, kernel.WakeAfter(wait, timeoutsDue{}))
	}
	return s.warnTimeouts(now, out)
}

// timeoutsDue logs the timeouts since the last warning.
func (s *state) timeoutsDue(now time.Time, out []kernel.Effect) []kernel.Effect {
	if !s.calls.timeouts.armed {
		return out
	}
	s.calls.timeouts.armed = false
	return s.warnTimeouts(now, out)
}

func (s *state) warnTimeouts(now time.Time, out []kernel.Effect) []kernel.Effect {
	count := s.calls.timeouts.pending
	s.calls.timeouts.pending, s.calls.timeouts.warned = 0, now
	return append(out, kernel.Log(slog.LevelWarn, "server did not answer in time", "calls", count))
}

// recentTimeouts returns the number of calls that timed out in the last ten minutes, at most maxTimeouts, and when the last
// one did.
func (s *state) recentTimeouts(now time.Time) (count int, last time.Time) {
	for _, at := range s.calls.timeouts.recent {
		if now.Sub(at) < timeoutsShown {
			count++
			last = at
		}
	}
	return count, last
}

// timeoutsWarning describes the recent timeouts for operators, or returns "" if there are none.
func (s *state) timeoutsWarning(now time.Time) string {
	count, last := s.recentTimeouts(now)
	ago := message.Seconds(now.Sub(last))
	switch {
	case count == 0:
		return ""
	case count == 1:
		return fmt.Sprintf("a call timed out %s ago", ago)
	case count == maxTimeouts:
		return fmt.Sprintf("at least %d calls timed out in the last 10 minutes, the last one %s ago", count, ago)
	}
	return fmt.Sprintf("%d calls timed out in the last 10 minutes, the last one %s ago", count, ago)
}

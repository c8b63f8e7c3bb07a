package backend

import (
	"time"

	"goblin-actor/actors/message"
)

const (
	steadyTime      = 5 * time.Second        // after being ready for this time, the first reconnect is immediate
	quickRetries    = 400 * time.Millisecond // how long quick attempts at a URL are made after a steady connection was lost
	quickRetryPause = 20 * time.Millisecond  // the first pause between these attempts; later ones are longer
	longestHopPause = time.Second            // a node is not notified when it can reach another member again
)

// longestRetryAfter is the longest time by which a server's Retry-After can delay the next attempt to connect.
const longestRetryAfter = 5 * time.Minute

// pause returns how long to wait before the next attempt to connect, after an attempt failed or the connection was lost,
// and counts the failure. If the connection was steady, the first attempt is immediate. A server with a URL is probably
// restarting and refuses connections meanwhile, so a few quick attempts follow, each pause as long as the server has
// been away, before the configured pauses begin. A refused connection is cheap; a process that fails to start is not.
func (s *state) pause(now time.Time, next message.Phase) time.Duration {
	if s.life.phase == message.Ready && now.Sub(s.conn.readySince) >= steadyTime {
		if s.life.failures = 0; s.server.Hop == "" { // a node that is gone does not return at once; see nodeJoined
			s.life.lostAt = now
		}
		return 0
	}
	if away := now.Sub(s.life.lostAt); away < quickRetries && next == message.Waiting && !s.link.ownsServer {
		return jitter(s.rng, min(max(away, quickRetryPause), s.backoff(1)))
	}
	s.life.failures++
	return jitter(s.rng, s.backoff(s.life.failures))
}

// backoff returns the maximum pause after the given number of consecutive failures: reconnect.min, doubled each time up
// to reconnect.max. If another node of the cluster runs the server, it is at most longestHopPause.
func (s *state) backoff(failures int) time.Duration {
	d := max(s.server.Reconnect.Min, time.Millisecond)
	for i := 1; i < failures && d < s.server.Reconnect.Max; i++ {
		d *= 2
	}
	d = min(d, max(s.server.Reconnect.Max, s.server.Reconnect.Min))
	if s.server.Hop != "" {
		d = min(d, longestHopPause)
	}
	return d
}

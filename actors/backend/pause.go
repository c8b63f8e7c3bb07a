package backend

import (
	"time"

	"goblin-actor/actors/message"
)

const (
	steady    = 5 * time.Second        // ready for so long, the first reconnect is immediate
	soon      = 400 * time.Millisecond // after the loss of such a connection, attempts at a URL follow quickly
	soonFirst = 20 * time.Millisecond  // the first of the pauses between them
)

// longestRetryAfter bounds how long a server's Retry-After delays the next attempt to connect.
const longestRetryAfter = 5 * time.Minute

// pause returns how long to wait before the next attempt to connect, now that one has failed or the connection was lost, and
// counts the failure. A server that had been ready for long is tried at once. One at a URL is being started again by somebody
// else then, and refuses for as long as that takes: it is tried a few times more, each pause as long as it has been away, before
// the pauses that are configured begin. A refused connection costs next to nothing; a process of ours that does not start does.
func (s *state) pause(now time.Time, next message.Phase) time.Duration {
	if s.life.phase == message.Ready && now.Sub(s.conn.readySince) >= steady {
		s.life.lostAt, s.life.failures = now, 0
		return 0
	}
	if away := now.Sub(s.life.lostAt); away < soon && next == message.Waiting && !s.link.ownsServer {
		return jitter(s.rng, min(max(away, soonFirst), s.backoff(1)))
	}
	s.life.failures++
	return jitter(s.rng, s.backoff(s.life.failures))
}

// backoff is the longest wait after so many failures in a row: reconnect.min, doubled with each, at most reconnect.max.
func (s *state) backoff(failures int) time.Duration {
	d := max(s.server.Reconnect.Min, time.Millisecond)
	for i := 1; i < failures && d < s.server.Reconnect.Max; i++ {
		d *= 2
	}
	return min(d, max(s.server.Reconnect.Max, s.server.Reconnect.Min))
}

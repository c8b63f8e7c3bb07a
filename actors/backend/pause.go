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

// pause returns how long to wait before the next attempt to connect, after an attempt failed or the connection was
// lost, and counts the failure. A server that was ready for long is tried at once. If it has a URL, it is probably
// restarting and refuses connections meanwhile: it is tried a few more times, each pause as long as it has been
// away, before the configured pauses begin. A refused connection is cheap; a process that fails to start is not.
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

// backoff returns the longest pause after that many failures in a row: reconnect.min, doubled each time, at most
// reconnect.max.
func (s *state) backoff(failures int) time.Duration {
	d := max(s.server.Reconnect.Min, time.Millisecond)
	for i := 1; i < failures && d < s.server.Reconnect.Max; i++ {
		d *= 2
	}
	return min(d, max(s.server.Reconnect.Max, s.server.Reconnect.Min))
}

package pool

import (
	"fmt"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
)

// keepError is how long the server must be available before its last error is no longer reported.
const keepError = 10 * time.Minute

// lastError is why the server was last unavailable. It is reported for a while after the server has recovered.
type lastError struct {
	text  string    // never shown to clients; "" = none
	at    time.Time // time of the newest failure
	tries int       // number of failures since the server was last available for keepError
	since time.Time // when a main connection became ready after the newest failure; zero = none has
}

// record updates the error when a main connection changes its phase.
func (e *lastError) record(now time.Time, was message.Phase, m message.BackendChanged) {
	switch {
	case m.Phase == message.Ready && e.since.IsZero():
		e.since = now
	case (m.Phase == message.Waiting || m.Phase == message.NeedsLogin) && m.Phase != was: // otherwise only the time of the next attempt has changed
		if e.isOver(now) {
			e.tries = 0
		}
		e.text, e.at, e.since = message.Explain(m.Reason, m.LastLine), now, time.Time{}
		e.tries++
	}
}

// isOver reports whether the server has been available for keepError since its last failure.
func (e *lastError) isOver(now time.Time) bool {
	return !e.since.IsZero() && now.Sub(e.since) >= keepError
}

// report adds the error to the server's status.
func (e *lastError) report(now time.Time, r *status.Server) {
	if e.text != "" && !e.isOver(now) {
		r.LastError, r.LastErrorAt, r.LastErrorTries = e.text, e.at, e.tries
	}
}

// queueWaits returns what the queued calls wait for, in plain words for operators; "" = there are none.
func (s *state) queueWaits() string {
	leader := s.replicas.leader()
	switch {
	case s.calls.queue.len() == 0 && len(s.logins.waiting) > 0:
		return "a login to the server"
	case s.calls.queue.len() == 0:
		return ""
	case !s.hasRoom():
		return fmt.Sprintf("a free slot of %d", s.server.MaxConcurrent)
	case leader == nil:
		return "a connection to the server"
	case leader.phase != message.Ready:
		return "the server, which is " + string(leader.phase)
	case len(s.calls.pauses.until) > 0:
		return "the end of the pause that the server asked for (HTTP 429)"
	}
	return "a free connection"
}

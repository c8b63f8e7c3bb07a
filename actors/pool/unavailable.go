package pool

import (
	"fmt"
	"strings"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// comes reports whether a backend that is not ready may be waited for: it is in its first attempt since it was wanted, or since
// it was last ready, or that attempt is due at once. Nothing was sent, so a call that waits is not doubled. From the moment that
// the attempt has failed, nobody can tell when there will be a server, and calls fail at once.
func (conn *connection) isComing(now time.Time) bool {
	switch conn.phase {
	case message.Idle, message.Connecting, message.Handshaking, message.Syncing:
		return !conn.attempts.failing
	case message.Waiting:
		return !conn.attempts.failing && !conn.nextAttempt.After(now)
	case message.NeedsLogin:
		return !conn.attempts.failing // its login has come
	case message.Ready:
		return conn.lost // the news of the loss is on its way, and says more
	}
	return false
}

// attempted notes what a new phase says of the attempts: whether the newest has failed, why, and since when there is no server.
func (conn *connection) recordAttempt(now time.Time, was message.Phase, m message.BackendChanged) {
	conn.lost = false
	switch m.Phase {
	case message.Ready:
		conn.attempts.failing, conn.attempts.failure, conn.attempts.detail, conn.attempts.downSince = false, "", "", time.Time{}
		return
	case message.Waiting:
		if was != message.Waiting { // else only its pause has changed
			conn.attempts.failing = was != message.Ready
		}
		conn.attempts.failure, conn.attempts.detail = m.Reason, message.Explain(m.Reason, m.LastLine)
	case message.NeedsLogin:
		conn.attempts.failing, conn.attempts.failure, conn.attempts.detail = true, m.Reason, message.Explain(m.Reason, m.LastLine)
	}
	if was == message.Ready || conn.attempts.downSince.IsZero() {
		conn.attempts.downSince = now
	}
}

// awaits says what a backend that is being started waits for; "" when it is not.
func (conn *connection) waitsFor() string {
	if conn.start.requested {
		return message.AwaitsTurn
	}
	return message.Awaited(conn.phase)
}

// why says what a backend that is not ready does, and what went wrong before, for clients.
func (conn *connection) explain(now time.Time) string {
	text := string(conn.phase)
	if what := conn.waitsFor(); what != "" {
		text = fmt.Sprintf("%s%s: %s", conn.phase, formatFor(now.Sub(conn.since)), what)
	}
	switch {
	case conn.attempts.failure == "":
	case conn.waitsFor() != "":
		text += "; before: " + conn.attempts.failure
	default:
		text += " (" + conn.attempts.failure + ")"
	}
	return text
}

// forSeconds says how long something has been so, if it has been for a while.
func formatFor(d time.Duration) string {
	if d < time.Second {
		return ""
	}
	return " for " + message.Seconds(d)
}

func (s *state) unavailableName() protocol.FaultName {
	if s.replicaCount() > 1 {
		return protocol.NoBackendsAvailable
	}
	return protocol.ServerUnavailable
}

// unavailableFault says why the server cannot carry out such a call and when it is tried next.
func (s *state) unavailableFault(now time.Time, w target) *protocol.Fault {
	f := &protocol.Fault{Name: s.unavailableName(), Server: s.server.Name, Retryable: true, Message: s.whyUnavailable(now)}
	if s.isFull(w) {
		f.Message, f.RetryAfter = fmt.Sprintf("server %s has as many connections as it may have, and all are in use (maxBackends: %d)", s.server.Name, s.server.MaxBackends), time.Second
		return f
	}
	if s.onlyDeviatingReady(w) {
		f.Name, f.Message = protocol.NoBackendsAvailable, fmt.Sprintf("server %s: the replicas that are ready define %s otherwise than it is listed", s.server.Name, w.tool)
	}
	if w.prefer != nil && w.prefer.Required {
		s.explainPreference(f, w.prefer)
	}
	if w.replica > 0 {
		f.Name = protocol.ServerUnavailable
		f.Message = fmt.Sprintf("replica %d of %s", w.replica-1, f.Message)
	}
	for _, conn := range s.replicas.connections {
		if conn.leaving || !w.allows(conn) {
			continue
		}
		if key, _ := s.loginOf(conn); conn.phase == message.NeedsLogin && conn.main && !s.usesClientCredentials(key) {
			f.Name = protocol.NeedsLogin
		}
		if d := conn.nextAttempt.Sub(now); (conn.phase == message.Waiting || conn.phase == message.NeedsLogin) && (f.RetryAfter == 0 || d < f.RetryAfter) {
			f.RetryAfter = max(d, time.Millisecond)
		}
	}
	return f
}

// whyUnavailable says since when there is no server, and why.
func (s *state) whyUnavailable(now time.Time) string {
	if s.fault != "" {
		return fmt.Sprintf("server %s is misconfigured: %s", s.server.Name, s.fault)
	}
	text := fmt.Sprintf("server %s is unavailable", s.server.Name)
	if s.replicaCount() > 1 {
		text = fmt.Sprintf("server %s: no backends available", s.server.Name)
	}
	why, since := s.whyNotReady(now)
	if !since.IsZero() {
		text += formatFor(now.Sub(since))
	}
	if why != "" {
		text += ": " + why
	}
	return text
}

// whyNotReady says what is the matter with the backends that are not ready, and since when the last of them is not.
func (s *state) whyNotReady(now time.Time) (why string, since time.Time) {
	var all []string
	for _, conn := range s.replicas.connections {
		if conn.leaving || conn.phase == message.Ready {
			continue
		}
		if text := conn.explain(now); text != string(message.Idle) {
			all = append(all, text)
		}
		if conn.attempts.downSince.After(since) {
			since = conn.attempts.downSince
		}
	}
	return strings.Join(all, "; "), since
}

// waitedTooLong is the answer to a call whose time in the queue is over.
func (s *state) queueTimeoutFault(now time.Time) *protocol.Fault {
	f := &protocol.Fault{Name: protocol.QueueTimeout, Server: s.server.Name, Retryable: true,
		Message: fmt.Sprintf("server %s had no free slot for %s", s.server.Name, s.server.Queue.Timeout)}
	for _, conn := range s.replicas.connections {
		if conn.phase == message.Ready && !conn.leaving {
			return f
		}
	}
	f.Message = fmt.Sprintf("server %s did not get ready within %s (queue.timeout)", s.server.Name, s.server.Queue.Timeout)
	if why, _ := s.whyNotReady(now); why != "" {
		f.Message += ": " + why
	}
	return f
}

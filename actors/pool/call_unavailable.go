package pool

import (
	"fmt"
	"strings"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// soonReady reports whether calls may wait for a connection that is not ready. They may wait while its first attempt
// since it was opened, or last ready, is in progress or due. Once that attempt has failed, it is unknown when the
// server will return, so calls fail at once.
func (conn *connection) soonReady(now time.Time) bool {
	switch conn.phase {
	case message.Idle, message.Connecting, message.Handshaking, message.Syncing:
		return !conn.attempts.failing
	case message.Waiting:
		return !conn.attempts.failing && !conn.nextAttempt.After(now)
	case message.NeedsLogin:
		return !conn.attempts.failing // a login has arrived, and the attempt with it follows
	case message.Ready:
		return conn.lost // BackendChanged follows with the details
	}
	return false
}

// recordAttempt updates the connection's attempts from a new phase.
func (conn *connection) recordAttempt(now time.Time, was message.Phase, m message.BackendChanged) {
	conn.lost = false
	switch m.Phase {
	case message.Ready:
		conn.attempts.failing, conn.attempts.failure, conn.attempts.detail, conn.attempts.downSince = false, "", "", time.Time{}
		return
	case message.Waiting:
		if was != message.Waiting { // otherwise only the time of the next attempt has changed
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

// waitsFor describes what a starting backend waits for. It returns "" if the backend is not starting.
func (conn *connection) waitsFor() string {
	if conn.start.requested {
		return message.AwaitsTurn
	}
	return message.Awaited(conn.phase)
}

// explain describes, for clients, the phase of a backend that is not ready and its last failure.
func (conn *connection) explain(now time.Time) string {
	text := string(conn.phase)
	if what := conn.waitsFor(); what != "" {
		text = fmt.Sprintf("%s%s: %s", conn.phase, formatFor(now.Sub(conn.since)), what)
	}
	switch {
	case conn.attempts.failure == "":
	case conn.waitsFor() != "":
		text = message.WithFailure(text, conn.attempts.failure)
	default:
		text += " (" + conn.attempts.failure + ")"
	}
	return text
}

// formatFor formats how long a state has lasted, as in " for 5s". It returns "" for less than a second.
func formatFor(d time.Duration) string {
	if d < time.Second {
		return ""
	}
	return " for " + message.Seconds(d)
}

// unavailableName returns the name of the fault for an unavailable server.
func (s *state) unavailableName() protocol.FaultName {
	if s.replicaCount() > 1 {
		return protocol.NoBackendsAvailable
	}
	return protocol.ServerUnavailable
}

// unavailableFault returns the fault that says why the server cannot execute a call for the target, and when to retry.
func (s *state) unavailableFault(now time.Time, w target) *protocol.Fault {
	f := &protocol.Fault{Name: s.unavailableName(), Server: s.server.Name, Retryable: true, Message: s.whyUnavailable(now)}
	if s.isFull(w) {
		f.Message, f.RetryAfter = fmt.Sprintf("all connections of server %s are in use (maxBackends: %d)", s.server.Name, s.server.MaxBackends), time.Second
		return f
	}
	if s.onlyDeviatingReady(w) {
		f.Name, f.Message = protocol.NoBackendsAvailable, fmt.Sprintf("server %s: no ready replica offers tool %s with its listed definition; retry later", s.server.Name, w.tool)
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
		if key, _ := s.loginOf(conn); conn.phase == message.NeedsLogin && conn.main && !s.usesClientCredentials(key) && !s.loginUnavailable(key) {
			f.Name = protocol.NeedsLogin
		}
		if d := conn.nextAttempt.Sub(now); (conn.phase == message.Waiting || conn.phase == message.NeedsLogin) && (f.RetryAfter == 0 || d < f.RetryAfter) {
			f.RetryAfter = max(d, time.Millisecond)
		}
	}
	return f
}

// whyUnavailable describes why the server is unavailable, and for how long it has been.
func (s *state) whyUnavailable(now time.Time) string {
	if s.fault != "" {
		return fmt.Sprintf("server %s is misconfigured: %s", s.server.Name, s.fault)
	}
	why, since := s.whyNotReady(now)
	down := ""
	if !since.IsZero() {
		down = formatFor(now.Sub(since))
	}
	var text string
	switch replicas := s.replicaCount() > 1; {
	case replicas && down != "":
		text = "has had no available replica" + down
	case replicas:
		text = "has no available replica"
	case down != "":
		text = "has been unavailable" + down
	default:
		text = "is unavailable"
	}
	text = fmt.Sprintf("server %s %s", s.server.Name, text)
	if why != "" {
		text += ": " + why
	}
	return text
}

// whyNotReady describes the backends that are not ready, and returns when the last of them went down.
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

// queueTimeoutFault returns the fault of a call or subscription request that has waited for queue.timeout.
func (s *state) queueTimeoutFault(now time.Time) *protocol.Fault {
	f := &protocol.Fault{Name: protocol.QueueTimeout, Server: s.server.Name, Retryable: true,
		Message: fmt.Sprintf("server %s was busy for %s (queue.timeout); the request was not sent; retry later", s.server.Name, s.server.Queue.Timeout)}
	for _, conn := range s.replicas.connections {
		if conn.phase == message.Ready && !conn.leaving {
			return f
		}
	}
	f.Message = fmt.Sprintf("server %s was not ready within %s (queue.timeout)", s.server.Name, s.server.Queue.Timeout)
	if why, _ := s.whyNotReady(now); why != "" {
		f.Message += ": " + why
	}
	return f
}

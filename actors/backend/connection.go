package backend

import (
	"errors"
	"log/slog"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// keptStderr is the number of stderr lines that are kept for operators.
const keptStderr = 20

// linkEvent is an event of one incarnation's connection.
type linkEvent struct {
	incarnation
	event upstream.Event
}

// Size returns the size of the event's frame in bytes.
func (e linkEvent) Size() int {
	if r, ok := e.event.(upstream.Received); ok {
		return len(r.Frame.Raw)
	}
	return 0
}

// linkEvent handles a connection's events about frames.
func (s *state) linkEvent(now time.Time, event upstream.Event, out []kernel.Effect) []kernel.Effect {
	switch e := event.(type) {
	case upstream.Received:
		s.conn.seen.spoke, s.life.silentInBothEras = true, false
		return s.received(now, &e, out)
	case upstream.Written:
		return s.wrote(e.Ticket, out)
	case upstream.NotSent:
		return s.notSent(now, e, out)
	case upstream.Ended:
		return s.ended(now, e, out)
	case upstream.Noise:
		s.conn.seen.spoke, s.life.silentInBothEras = true, false
		return s.receivedGarbage(now, e, out)
	}
	return s.connectionEvent(now, event, out)
}

// connectionEvent handles events about the connection itself.
func (s *state) connectionEvent(now time.Time, event upstream.Event, out []kernel.Effect) []kernel.Effect {
	switch e := event.(type) {
	case upstream.Opened:
		s.conn.process.pid = e.PID
		return s.handshake(now, out)
	case upstream.SessionLost:
		return s.sessionLost(now, e, out)
	case upstream.Listening:
		return s.streamDecided(now, out)
	case upstream.ListenFailed:
		out = append(out, kernel.Log(slog.LevelDebug, "listen stream failed", "err", e.Err, "final", e.Final))
		if !e.Final && s.life.phase == message.Ready {
			return s.probeReach(now, out)
		}
		return s.streamDecided(now, out)
	case upstream.Stderr:
		return s.wroteStderr(e.Line, out)
	case upstream.Closed:
		return s.closed(now, e, out)
	}
	return out
}

// wroteStderr keeps the last lines for operators.
func (s *state) wroteStderr(line string, out []kernel.Effect) []kernel.Effect {
	lines := append(s.life.stderr, line)
	if len(lines) > keptStderr {
		lines = append(lines[:0], lines[len(lines)-keptStderr:]...)
	}
	s.life.stderr = lines
	return append(out, kernel.Log(slog.LevelDebug, status.MessageStderr, status.LineKey, line))
}

// closed handles a connection that has ended on its own.
func (s *state) closed(now time.Time, e upstream.Closed, out []kernel.Effect) []kernel.Effect {
	s.conn.open = false
	s.conn.process.lastLine = status.FailureLine(e.Stderr)
	if s.endedByInitialize() {
		return s.reopen(now, protocol.EraModern, out)
	}
	if _, is := errors.AsType[*upstream.LoginError](e.Err); is {
		s.life.noLogin = errors.Is(e.Err, upstream.ErrNoLogin)
		return s.retreat(now, message.NeedsLogin, loginReason(e.Err), s.returnUnsent(loginReason(e.Err), out))
	}
	s.life.silentInBothEras = s.life.silentInBothEras || s.life.phase == message.Handshaking && s.conn.probe.afterUnusable && !s.conn.seen.spoke
	return s.lose(now, closedReason(e), s.returnUnsent(closedReason(e), out))
}

// closedReason returns why a connection ended. It leaves out the process's stderr, which may contain secrets that
// clients must not see.
func closedReason(e upstream.Closed) string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return "the connection was closed"
}

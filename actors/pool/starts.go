package pool

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// wantStart lets a backend connect that wants to: a URL at once, a process when the gateway gives it a turn.
func (s *state) requestConnect(m message.RequestConnect, out []kernel.Effect) []kernel.Effect {
	conn := s.replicas.byBackend(m.Backend)
	if conn == nil || conn.leaving {
		return out
	}
	if entry, _, _ := s.server.Replica(conn.replica); len(entry.URLs) > 0 { // to dial costs nothing
		return append(out, kernel.Tell(conn.ref, message.Connect{}))
	}
	conn.start.requested = true
	return s.requestStartSlot(conn, out)
}

// askStart asks for a turn, or once more when somebody has come who waits for it.
func (s *state) requestStartSlot(conn *connection, out []kernel.Effect) []kernel.Effect {
	conn.start.hurried = s.calls.queue.len() > 0 || s.subscriptions.waitArmed
	return append(out, kernel.Tell(s.gateway, message.RequestStartSlot{
		Pool: s.self, Number: conn.number, Order: s.server.Order, Wanted: conn.start.hurried, Lost: conn.attempts.everReady && !conn.attempts.failing, Retries: conn.attempts.everFailed,
	}))
}

// hurry tells the gateway that somebody waits now for what wants to start.
func (s *state) raiseStartPriority(out []kernel.Effect) []kernel.Effect {
	for _, conn := range s.replicas.connections {
		if conn.start.requested && !conn.start.hurried {
			out = s.requestStartSlot(conn, out)
		}
	}
	return out
}

// mayStart: it is a backend's turn to connect.
func (s *state) startSlotGranted(m message.StartSlotGranted, out []kernel.Effect) []kernel.Effect {
	conn := s.replicas.byNumber(m.Number)
	if conn == nil || !conn.start.requested { // it does not want it any more
		return append(out, kernel.Tell(s.gateway, message.ReleaseStartSlot{Pool: s.self, Number: m.Number}))
	}
	conn.start.requested, conn.start.granted = false, true
	return append(out, kernel.Tell(conn.ref, message.Connect{}))
}

// started gives back the turn of a backend that is not starting any more, or its wish for one.
func (s *state) releaseStartSlot(conn *connection, out []kernel.Effect) []kernel.Effect {
	switch {
	case !conn.start.requested && !conn.start.granted:
		return out
	case conn.start.granted && (conn.phase == message.Connecting || conn.phase == message.Handshaking || conn.phase == message.Syncing):
		return out
	}
	conn.start.requested, conn.start.granted = false, false
	return append(out, kernel.Tell(s.gateway, message.ReleaseStartSlot{Pool: s.self, Number: conn.number}))
}

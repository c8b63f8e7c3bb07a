package pool

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// requestConnect lets a backend connect: to a URL at once, to a process when the gateway grants a start slot.
func (s *state) requestConnect(m message.RequestConnect, out []kernel.Effect) []kernel.Effect {
	conn := s.replicas.byBackend(m.Backend)
	if conn == nil || conn.leaving {
		return out
	}
	if entry, _, _ := s.server.Replica(conn.replica); !traitsOf(entry).startsProcess {
		return append(out, kernel.Tell(conn.ref, message.Connect{}))
	}
	conn.start.requested = true
	return s.requestStartSlot(conn, out)
}

// requestStartSlot requests a start slot from the gateway. A second request raises the priority when a client waits.
func (s *state) requestStartSlot(conn *connection, out []kernel.Effect) []kernel.Effect {
	conn.start.hurried = s.calls.queue.len() > 0 || s.subscriptions.waitArmed
	return append(out, kernel.Tell(s.gateway, message.RequestStartSlot{
		Pool: s.self, Number: conn.number, Order: s.server.Order, Wanted: conn.start.hurried, Lost: conn.attempts.everReady && !conn.attempts.failing, Retries: conn.attempts.everFailed,
	}))
}

// raiseStartPriority tells the gateway that a client waits for the connections that have no start slot yet.
func (s *state) raiseStartPriority(out []kernel.Effect) []kernel.Effect {
	for _, conn := range s.replicas.connections {
		if conn.start.requested && !conn.start.hurried {
			out = s.requestStartSlot(conn, out)
		}
	}
	return out
}

// startSlotGranted lets a backend connect.
func (s *state) startSlotGranted(m message.StartSlotGranted, out []kernel.Effect) []kernel.Effect {
	conn := s.replicas.byNumber(m.Number)
	if conn == nil || !conn.start.requested { // the slot is no longer needed
		return append(out, kernel.Tell(s.gateway, message.ReleaseStartSlot{Pool: s.self, Number: m.Number}))
	}
	conn.start.requested, conn.start.granted = false, true
	return append(out, kernel.Tell(conn.ref, message.Connect{}))
}

// releaseStartSlot returns the slot of a connection that is no longer starting, or withdraws its request for one.
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

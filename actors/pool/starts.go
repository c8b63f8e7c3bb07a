package pool

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// wantStart lets a backend connect that wants to: a URL at once, a process when the gateway gives it a turn.
func (s *state) wantStart(m message.RequestConnect, out []kernel.Effect) []kernel.Effect {
	sl := s.slotOf(m.Backend)
	if sl == nil || sl.leaving {
		return out
	}
	if entry, _, _ := s.server.Replica(sl.replica); len(entry.URLs) > 0 { // to dial costs nothing
		return append(out, kernel.Tell(sl.ref, message.Connect{}))
	}
	sl.asks = true
	return s.askStart(sl, out)
}

// askStart asks for a turn, or once more when somebody has come who waits for it.
func (s *state) askStart(sl *slot, out []kernel.Effect) []kernel.Effect {
	sl.hurries = s.queue.len() > 0 || s.awaiting
	return append(out, kernel.Tell(s.gateway, message.RequestStartSlot{
		Pool: s.self, Number: sl.number, Order: s.server.Order, Wanted: sl.hurries, Lost: sl.wasReady && !sl.failing, Retries: sl.hasFailed,
	}))
}

// hurry tells the gateway that somebody waits now for what wants to start.
func (s *state) hurry(out []kernel.Effect) []kernel.Effect {
	for _, sl := range s.slots {
		if sl.asks && !sl.hurries {
			out = s.askStart(sl, out)
		}
	}
	return out
}

// mayStart: it is a backend's turn to connect.
func (s *state) mayStart(m message.StartSlotGranted, out []kernel.Effect) []kernel.Effect {
	sl := s.slot(m.Number)
	if sl == nil || !sl.asks { // it does not want it any more
		return append(out, kernel.Tell(s.gateway, message.ReleaseStartSlot{Pool: s.self, Number: m.Number}))
	}
	sl.asks, sl.starts = false, true
	return append(out, kernel.Tell(sl.ref, message.Connect{}))
}

// started gives back the turn of a backend that is not starting any more, or its wish for one.
func (s *state) started(sl *slot, out []kernel.Effect) []kernel.Effect {
	switch {
	case !sl.asks && !sl.starts:
		return out
	case sl.starts && (sl.phase == message.Connecting || sl.phase == message.Handshaking || sl.phase == message.Syncing):
		return out
	}
	sl.asks, sl.starts = false, false
	return append(out, kernel.Tell(s.gateway, message.ReleaseStartSlot{Pool: s.self, Number: sl.number}))
}

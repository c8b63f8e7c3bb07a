package client

import (
	"slices"
	"time"

	"goblin-actor/protocol"
)

// end handles the end of the client's input.
func (s *modernState) end() {
	s.leaving = s.now.Add(bridgeLeave)
	s.pump()
}

// close closes the link.
func (s *modernState) close() {
	if s.open {
		s.open = false
		s.do(bridgeDrop{s.gen})
	}
}

// tick handles timers that are due.
func (s *modernState) tick() {
	due := func(at time.Time) bool { return !at.IsZero() && !s.now.Before(at) }
	if due(s.leaving) {
		s.leave()
		return
	}
	s.drop(func(i modernItem) bool {
		late := s.phase == bridgeDown && due(i.until)
		if late && i.frame.Kind == protocol.KindRequest && !i.own {
			s.refuse(i.frame, protocol.ServerUnavailable, "the gateway is not reachable, so the request was not sent: "+s.why, true)
		}
		return late
	})
	for len(s.later) > 0 && due(s.later[0].until) {
		i := s.later[0]
		s.later, i.until = s.later[1:], time.Time{}
		s.wait(&i)
	}
	if s.phase == bridgeDown && due(s.retryAt) {
		s.phase = bridgeOpening
	}
	s.pump()
}

// leave refuses open requests, except subscriptions/listen, and ends the bridge.
func (s *modernState) leave() {
	for _, i := range slices.Concat(s.queue, s.later, s.lookup.waiting) {
		if i.frame.Kind == protocol.KindRequest && !i.listen {
			s.refuse(i.frame, protocol.ServerUnavailable, "the client has disconnected; the request was not sent", true)
		}
	}
	for _, ticket := range sorted(s.away) {
		if i := s.away[ticket]; i.frame.Kind == protocol.KindRequest && !i.listen && !i.own {
			s.refuse(i.frame, protocol.BackendDisconnected, "the client disconnected while the request was running", false)
		}
	}
	s.do(bridgeEnd{})
}

// next returns when tick is due, or the zero time for never.
func (s *modernState) next() time.Time {
	times := []time.Time{s.leaving}
	if s.phase == bridgeDown {
		times = append(times, s.retryAt)
		for _, i := range s.queue {
			times = append(times, i.until)
		}
	}
	if len(s.later) > 0 {
		times = append(times, s.later[0].until)
	}
	times = slices.DeleteFunc(times, time.Time.IsZero)
	if len(times) == 0 {
		return time.Time{}
	}
	return slices.MinFunc(times, time.Time.Compare)
}

package client

import (
	"slices"
	"time"

	"goblin-actor/protocol"
)

// end handles the end of the client's input.
func (s *bridgeState) end() {
	s.leaving = s.now.Add(bridgeLeave)
	s.pump()
}

// tick handles timers that are due.
func (s *bridgeState) tick() {
	due := func(at time.Time) bool { return !at.IsZero() && !s.now.Before(at) }
	if due(s.leaving) {
		s.leave()
		return
	}
	s.expire()
	for len(s.later) > 0 && due(s.later[0].until) {
		i := s.later[0]
		i.until = time.Time{}
		s.later = s.later[1:]
		s.pushFront(i)
	}
	switch {
	case s.phase == bridgeDown && due(s.retryAt):
		s.connect()
	case s.phase == bridgeOpening && due(s.retryAt), s.phase == bridgeReady && due(s.probing):
		s.lost(errBridgeSilent)
	case s.phase == bridgeReady && s.probing.IsZero() && due(s.heard.Add(bridgeQuiet)):
		s.probe()
	}
	s.pump()
}

// leave refuses open requests and ends the bridge.
func (s *bridgeState) leave() {
	if !s.greeted && s.phase != bridgeNew {
		s.refuse(s.hello, protocol.ServerUnavailable, "the gateway is not reachable: "+s.why, true)
	}
	for _, i := range slices.Concat(s.queue, s.later) {
		if i.kind == bridgeRequest {
			s.refuse(i.frame, protocol.ServerUnavailable, "the client has disconnected; the request was not sent", true)
		}
	}
	for _, ticket := range sorted(s.away) {
		if i := s.away[ticket]; i.kind == bridgeRequest && !i.over {
			s.refuse(i.frame, protocol.BackendDisconnected, "the client disconnected while the request was running", false)
		}
	}
	s.do(bridgeEnd{})
}

// expire refuses requests and drops notifications that have waited too long for a gateway. If initialize has waited
// too long, expire refuses initialize and all waiting requests, and drops all waiting notifications. It does nothing
// during a session.
func (s *bridgeState) expire() {
	if s.phase == bridgeReady {
		return
	}
	if s.phase == bridgeDown && !s.greeted && !s.now.Before(s.patience) {
		s.refuse(s.hello, protocol.ServerUnavailable, "the gateway is not reachable: "+s.why, true)
		s.phase = bridgeNew
	}
	s.drop(func(i bridgeItem) bool {
		late := s.phase == bridgeNew || !s.now.Before(i.until)
		if late && i.kind == bridgeRequest {
			s.refuse(i.frame, protocol.ServerUnavailable, "the gateway is not reachable, so the request was not sent: "+s.why, true)
		}
		return late
	})
}

// next returns when tick is due, or the zero time for never.
func (s *bridgeState) next() time.Time {
	times := []time.Time{s.leaving}
	switch s.phase {
	case bridgeReady:
		if s.probing.IsZero() {
			times = append(times, s.heard.Add(bridgeQuiet))
		}
		times = append(times, s.probing)
	case bridgeOpening, bridgeDown:
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

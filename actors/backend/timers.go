package backend

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// Messages of the backend to itself. All except roundDue are ignored once the next connection has been opened.
type (
	reconnectDue   struct{ incarnation } // the pause before the next attempt to connect is over
	startExpired   struct{ incarnation } // startTimeout is over
	openingExpired struct{ incarnation } // openingTime is over
	probeExpired   struct{ incarnation } // probeTime is over
	ownExpired     struct {              // the timeout of a request of the gateway is over
		incarnation
		ticket uint32
	}
	ttlExpired struct { // a list is no longer fresh
		incarnation
		kind    protocol.ItemKind
		fetches int
	}
	listDue struct { // the pause before a list is fetched again is over
		incarnation
		kind    protocol.ItemKind
		fetches int
	}
	taskPollDue struct { // a followed task is due to be polled
		incarnation
		id uint32 // of the request that waits for the task's result
	}
	roundDue struct { // the pause before a request is sent again is over
		call   message.CallRef
		number int
	}
	burstOver struct { // the server had time to ask further questions during the call
		incarnation
		id uint32
	}
	cancelOver struct { // the server had time to end a call that was canceled with open questions
		incarnation
		id uint32
	}
	ackExpired struct { // the time to acknowledge a stream is over
		incarnation
		id uint32
	}
	relistenDue struct { // the pause before a stream is opened again is over
		incarnation
		attempt int
	}
	overlapOver struct{ incarnation } // overlapTime is over
	reachDue    struct{ incarnation } // an unreachable server is due to be probed again
)

// bound is a message that concerns one incarnation only.
type bound interface{ of() incarnation }

// timer handles the backend's own messages of this incarnation.
func (s *state) timer(now time.Time, m bound, out []kernel.Effect) []kernel.Effect {
	switch m := m.(type) {
	case ownExpired:
		return s.ownExpired(now, m, out)
	case ttlExpired:
		return s.ttlExpired(m, out)
	case listDue:
		return s.listDue(m, out)
	case taskPollDue:
		return s.taskPollDue(m, out)
	case cancelOver:
		return s.cancelOver(m, out)
	case burstOver:
		return s.burstOver(m, out)
	case reachDue:
		return s.reachDue(now, out)
	case ackExpired, relistenDue, overlapOver:
		return s.streamTimer(now, m, out)
	}
	return s.startTimer(now, m, out)
}

// startTimer handles the timers of the phases before Ready.
func (s *state) startTimer(now time.Time, m bound, out []kernel.Effect) []kernel.Effect {
	switch m.(type) {
	case reconnectDue:
		if s.life.phase == message.Waiting || s.life.phase == message.NeedsLogin {
			return s.requestConnect(out)
		}
	case startExpired:
		return s.startExpired(now, out)
	case openingExpired:
		if s.life.phase == message.Syncing {
			return s.openingExpired(now, out)
		}
	case probeExpired:
		if s.life.phase == message.Handshaking {
			return s.initializeUnanswered(out)
		}
	}
	return out
}

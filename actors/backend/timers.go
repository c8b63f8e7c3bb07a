package backend

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// Messages of the backend to itself. All but roundDue are void when the incarnation they are of is over.
type (
	reconnectDue   struct{ incarnation } // the pause is over
	startExpired   struct{ incarnation } // startTimeout is over
	openingExpired struct{ incarnation } // openingTime is over
	probeExpired   struct{ incarnation } // probeTime is over
	ownExpired     struct {              // an answer to a request of ours did not come
		incarnation
		ticket uint32
	}
	ttlExpired struct { // a list is no longer fresh
		incarnation
		kind    protocol.ItemKind
		fetches int
	}
	listDue struct { // the pause before a list that could not be fetched is asked for again is over
		incarnation
		kind    protocol.ItemKind
		fetches int
	}
	lookDue struct { // it is time to ask how far a followed task is
		incarnation
		id uint32 // of the request that waits for its end
	}
	roundDue struct { // the pause before a request is sent again is over
		call   message.CallRef
		number int
	}
	burstOver struct { // a call that has asked has had time to ask more
		incarnation
		id uint32
	}
	cancelOver struct { // a server has had time to end a call that was cancelled while it asked
		incarnation
		id uint32
	}
	ackExpired struct { // a stream was not acknowledged
		incarnation
		id uint32
	}
	relistenDue struct { // the pause before a stream is opened again is over
		incarnation
		attempt int
	}
	overlapOver struct{ incarnation } // two streams have run beside each other for long enough
	reachDue    struct{ incarnation } // it is time to ask a server again that could not be reached
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
	case lookDue:
		return s.lookDue(m, out)
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
			return s.wantStart(out)
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

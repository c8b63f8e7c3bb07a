package meta

import (
	"maps"
	"slices"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

const (
	maxRunning = 4                // calls at once: they need a processor, not patience
	maxWaiting = 1024             // more calls are refused
	keepIndex  = 10 * time.Minute // without a search, the index goes
)

// state is written by step only.
type state struct {
	registry, self kernel.Reference
	snapshot       *catalog.Snapshot // the newest; nil = none yet

	number  uint64
	running map[uint64]message.Dispatch
	numbers map[message.CallRef]uint64 // of those that run
	waiting []message.Dispatch

	searched time.Time // when a search began last
	timed    bool      // an unused is on its way
}

// unused: perhaps nobody has searched for a while.
type unused struct{}

// over tells the shell that a call runs no more.
type over struct{ number uint64 }

func newState(registry, self kernel.Reference) *state {
	return &state{registry: registry, self: self, running: map[uint64]message.Dispatch{}, numbers: map[message.CallRef]uint64{}}
}

// step applies msg to s at the time now and appends to out what is to be done about it.
func step(s *state, now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case kernel.Started:
		return append(out, kernel.Tell(s.registry, message.Subscribe{Who: s.self}))
	case message.Published:
		s.snapshot = m.Snapshot
		return s.pump(now, out)
	case message.Dispatch:
		return s.dispatch(now, m, out)
	case message.Cancel:
		return s.cancel(m, out)
	case ran:
		return s.ran(now, m, out)
	case unused:
		return s.unused(now, out)
	case kernel.Stopping:
		return s.stopping(out)
	}
	return out
}

// dispatch takes a call, or refuses it when too many wait.
func (s *state) dispatch(now time.Time, m message.Dispatch, out []kernel.Effect) []kernel.Effect {
	if len(s.waiting) >= maxWaiting {
		return append(out, failed(m, &protocol.Fault{Name: protocol.QueueFull, Server: Name, Message: "too many calls of the gateway's own tools wait", Retryable: true}))
	}
	s.waiting = append(s.waiting, m)
	return s.pump(now, out)
}

// pump runs what may run. Before the first snapshot nothing does.
func (s *state) pump(now time.Time, out []kernel.Effect) []kernel.Effect {
	for s.snapshot != nil && len(s.waiting) > 0 && len(s.running) < maxRunning {
		m := s.waiting[0]
		s.waiting[0] = message.Dispatch{}
		s.waiting = s.waiting[1:]
		s.number++
		s.running[s.number], s.numbers[m.Call] = m, s.number
		if searches(m.Request.Item) {
			s.searched = now
			if !s.timed {
				s.timed = true
				out = append(out, kernel.WakeAfter(keepIndex, unused{}))
			}
		}
		out = append(out, kernel.Tell(m.Call.Holder, message.Written{Seq: m.Call.Seq}), kernel.Act(run{s.number, m.Request, s.snapshot}))
	}
	return out
}

// cancel forgets a call. One that runs keeps its place until it has ended: what is cancelled works on for a while.
func (s *state) cancel(m message.Cancel, out []kernel.Effect) []kernel.Effect {
	if number, runs := s.numbers[m.Call]; runs {
		delete(s.numbers, m.Call)
		return append(out, kernel.Act(halt{number}))
	}
	s.waiting = slices.DeleteFunc(s.waiting, func(d message.Dispatch) bool { return d.Call == m.Call })
	return out
}

// ran answers the holder of a call that has ended, unless it was cancelled.
func (s *state) ran(now time.Time, m ran, out []kernel.Effect) []kernel.Effect {
	d := s.running[m.number]
	delete(s.running, m.number)
	out = append(out, kernel.Act(over{m.number}))
	if s.numbers[d.Call] == m.number {
		delete(s.numbers, d.Call)
		if m.fault != nil {
			out = append(out, failed(d, m.fault))
		} else {
			out = append(out, kernel.Tell(d.Call.Holder, message.Done{Seq: d.Call.Seq, Frame: m.frame}))
		}
	}
	return s.pump(now, out)
}

// unused drops the index when nobody has searched for long enough.
func (s *state) unused(now time.Time, out []kernel.Effect) []kernel.Effect {
	if left := s.searched.Add(keepIndex).Sub(now); left > 0 {
		return append(out, kernel.WakeAfter(left, unused{}))
	}
	s.timed = false
	return append(out, kernel.Act(dropIndex{}))
}

// stopping answers everybody who waits.
func (s *state) stopping(out []kernel.Effect) []kernel.Effect {
	fault := &protocol.Fault{Name: protocol.ServerUnavailable, Server: Name, Message: "the gateway's own tools are going", Retryable: true}
	for _, number := range slices.Sorted(maps.Keys(s.running)) {
		if d := s.running[number]; s.numbers[d.Call] == number {
			out = append(out, failed(d, fault))
		}
	}
	for _, d := range s.waiting {
		out = append(out, failed(d, fault))
	}
	s.running, s.numbers, s.waiting = nil, nil, nil
	return append(out, kernel.Act(dropIndex{}), kernel.Tell(s.registry, message.Unsubscribe{Who: s.self}))
}

func failed(d message.Dispatch, fault *protocol.Fault) kernel.Effect {
	return kernel.Tell(d.Call.Holder, message.Failed{Seq: d.Call.Seq, Fault: fault})
}

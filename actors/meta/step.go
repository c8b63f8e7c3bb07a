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
	maxRunning = 4                // calls at once
	maxWaiting = 1024             // more calls are refused
	waitAtMost = 10 * time.Second // for a turn
	keepIndex  = 10 * time.Minute // without a search, the index goes
)

// state is written by step only.
type state struct {
	registry, self kernel.Reference
	snapshot       *catalog.Snapshot // the newest; nil = none yet

	number  uint64
	running map[uint64]message.Dispatch
	numbers map[message.CallRef]uint64 // of those that run
	waiting turns
	ringing bool // a waited is on its way

	searched time.Time // when a search began last
	timed    bool      // an unused is on its way
}

// waited: perhaps a call has waited for too long.
type waited struct{}

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
	case waited:
		return s.waited(now, out)
	case unused:
		return s.unused(now, out)
	case kernel.Stopping:
		return s.stopping(out)
	}
	return out
}

// dispatch takes a call, or refuses one when too many wait.
func (s *state) dispatch(now time.Time, m message.Dispatch, out []kernel.Effect) []kernel.Effect {
	if refused, full := s.waiting.add(waiting{m, now.Add(waitAtMost)}); full {
		out = append(out, failed(refused, &protocol.Fault{Name: protocol.QueueFull, Server: Name, Message: "too many calls of the gateway's own tools wait", Retryable: true}))
	}
	return s.pump(now, out)
}

// pump runs what may run. Before the first snapshot nothing does.
func (s *state) pump(now time.Time, out []kernel.Effect) []kernel.Effect {
	for s.snapshot != nil && s.waiting.count > 0 && len(s.running) < maxRunning {
		m := s.waiting.next()
		s.number++
		s.running[s.number], s.numbers[m.Call] = m, s.number
		if searches(m.Request.Item) {
			s.searched = now
			if !s.timed {
				s.timed = true
				out = append(out, kernel.WakeAfter(keepIndex, unused{}))
			}
		}
		out = append(out, kernel.Tell(m.Call.Holder, message.RequestWritten{Seq: m.Call.Seq}), kernel.Act(run{s.number, m.Request, s.snapshot}))
	}
	return s.ring(waitAtMost, out)
}

// ring has those that wait looked at again, if any do.
func (s *state) ring(after time.Duration, out []kernel.Effect) []kernel.Effect {
	if s.ringing || s.waiting.count == 0 {
		return out
	}
	s.ringing = true
	return append(out, kernel.WakeAfter(after, waited{}))
}

// waited refuses the calls whose turn has not come in time.
func (s *state) waited(now time.Time, out []kernel.Effect) []kernel.Effect {
	s.ringing = false
	next := now.Add(waitAtMost)
	for _, d := range s.waiting.take(func(w *waiting) bool {
		late := !now.Before(w.until)
		if !late && w.until.Before(next) {
			next = w.until
		}
		return late
	}) {
		out = append(out, failed(d, &protocol.Fault{Name: protocol.QueueTimeout, Server: Name, Message: "too many calls of the gateway's own tools run: this one waited for " + waitAtMost.String(), Retryable: true}))
	}
	return s.ring(next.Sub(now), out)
}

// cancel forgets a call. One that runs keeps its place until it has ended: what is cancelled works on for a while.
func (s *state) cancel(m message.Cancel, out []kernel.Effect) []kernel.Effect {
	if number, runs := s.numbers[m.Call]; runs {
		delete(s.numbers, m.Call)
		return append(out, kernel.Act(halt{number}))
	}
	s.waiting.take(func(w *waiting) bool { return w.Call == m.Call })
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
	for _, d := range s.waiting.take(func(*waiting) bool { return true }) {
		out = append(out, failed(d, fault))
	}
	s.running, s.numbers = nil, nil
	return append(out, kernel.Act(dropIndex{}), kernel.Tell(s.registry, message.Unsubscribe{Who: s.self}))
}

func failed(d message.Dispatch, fault *protocol.Fault) kernel.Effect {
	return kernel.Tell(d.Call.Holder, message.Failed{Seq: d.Call.Seq, Fault: fault})
}

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
	maxRunning = 4                // calls that run at once
	maxWaiting = 1024             // calls in the queue; further calls are refused
	waitAtMost = 10 * time.Second // how long a call may wait in the queue
	keepIndex  = 10 * time.Minute // how long the index is kept after the last search
)

// state is the actor's entire state. Only step modifies it.
type state struct {
	registry, self kernel.Reference
	snapshot       *catalog.Snapshot // the newest; nil until the first arrives

	number     uint64
	running    map[uint64]message.Dispatch
	numbers    map[message.CallRef]uint64 // the call numbers of running calls that are not canceled
	queue      callQueue
	queueTimer bool // a queueDue timer is set

	lastSearch time.Time // start of the last search
	indexTimer bool      // an indexDue timer is set
}

// queueDue reports that calls may have waited too long.
type queueDue struct{}

// indexDue reports that the index may have been unused for too long.
type indexDue struct{}

// release tells the shell that a call has ended.
type release struct{ number uint64 }

func newState(registry, self kernel.Reference) *state {
	return &state{registry: registry, self: self, running: map[uint64]message.Dispatch{}, numbers: map[message.CallRef]uint64{}}
}

// step applies msg to s at the time now and appends the resulting effects to out.
func step(s *state, now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case kernel.Started:
		return append(out, kernel.Tell(s.registry, message.Subscribe{From: s.self}))
	case message.Published:
		s.snapshot = m.Snapshot
		return s.pump(now, out)
	case message.Dispatch:
		return s.dispatch(now, m, out)
	case message.Cancel:
		return s.cancel(m, out)
	case ran:
		return s.ran(now, m, out)
	case queueDue:
		return s.expireQueued(now, out)
	case indexDue:
		return s.expireIndex(now, out)
	case kernel.Stopping:
		return s.stopping(out)
	}
	return out
}

// dispatch queues a call, or refuses one if the queue is full.
func (s *state) dispatch(now time.Time, m message.Dispatch, out []kernel.Effect) []kernel.Effect {
	if refused, full := s.queue.add(queuedCall{m, now.Add(waitAtMost)}); full {
		out = append(out, failed(refused, &protocol.Fault{Name: protocol.QueueFull, Server: Name, Message: "too many calls to the gateway's tools are waiting", Retryable: true}))
	}
	return s.pump(now, out)
}

// pump starts queued calls while there is capacity. No call starts before the first snapshot.
func (s *state) pump(now time.Time, out []kernel.Effect) []kernel.Effect {
	for s.snapshot != nil && s.queue.count > 0 && len(s.running) < maxRunning {
		m := s.queue.next()
		s.number++
		s.running[s.number], s.numbers[m.Call] = m, s.number
		if searches(m.Request.Item) {
			s.lastSearch = now
			if !s.indexTimer {
				s.indexTimer = true
				out = append(out, kernel.WakeAfter(keepIndex, indexDue{}))
			}
		}
		out = append(out, kernel.Tell(m.Call.Holder, message.RequestWritten{Seq: m.Call.Seq, Taken: now}), kernel.Act(run{s.number, m.Request, s.snapshot}))
	}
	return s.setQueueTimer(waitAtMost, out)
}

// setQueueTimer sets the queue timer if calls wait and it is not set.
func (s *state) setQueueTimer(after time.Duration, out []kernel.Effect) []kernel.Effect {
	if s.queueTimer || s.queue.count == 0 {
		return out
	}
	s.queueTimer = true
	return append(out, kernel.WakeAfter(after, queueDue{}))
}

// expireQueued refuses the calls that waited longer than waitAtMost.
func (s *state) expireQueued(now time.Time, out []kernel.Effect) []kernel.Effect {
	s.queueTimer = false
	why := "too many calls to the gateway's tools are running"
	if s.snapshot == nil {
		why = "the gateway has no catalog yet"
	}
	next := now.Add(waitAtMost)
	for _, d := range s.queue.take(func(w *queuedCall) bool {
		late := !now.Before(w.expires)
		if !late && w.expires.Before(next) {
			next = w.expires
		}
		return late
	}) {
		out = append(out, failed(d, &protocol.Fault{Name: protocol.QueueTimeout, Server: Name, Message: why + "; this call waited for " + waitAtMost.String(), Retryable: true}))
	}
	return s.setQueueTimer(next.Sub(now), out)
}

// cancel drops a waiting call or stops a running one. A stopped call counts as running until its goroutine has ended.
func (s *state) cancel(m message.Cancel, out []kernel.Effect) []kernel.Effect {
	if number, runs := s.numbers[m.Call]; runs {
		delete(s.numbers, m.Call)
		return append(out, kernel.Act(cancelRun{number}))
	}
	s.queue.take(func(w *queuedCall) bool { return w.Call == m.Call })
	return out
}

// ran sends the result of a call to its holder, unless the call was canceled.
func (s *state) ran(now time.Time, m ran, out []kernel.Effect) []kernel.Effect {
	d := s.running[m.number]
	delete(s.running, m.number)
	out = append(out, kernel.Act(release{m.number}))
	if s.numbers[d.Call] == m.number {
		delete(s.numbers, d.Call)
		if m.fault != nil {
			out = append(out, failed(d, m.fault))
		} else {
			out = append(out, kernel.Tell(d.Call.Holder, message.Done{Seq: d.Call.Seq, Frame: m.frame, At: now}))
		}
	}
	return s.pump(now, out)
}

// expireIndex drops the index if no search has started for keepIndex.
func (s *state) expireIndex(now time.Time, out []kernel.Effect) []kernel.Effect {
	if left := s.lastSearch.Add(keepIndex).Sub(now); left > 0 {
		return append(out, kernel.WakeAfter(left, indexDue{}))
	}
	s.indexTimer = false
	return append(out, kernel.Act(dropIndex{}))
}

// stopping fails all running and waiting calls.
func (s *state) stopping(out []kernel.Effect) []kernel.Effect {
	fault := &protocol.Fault{Name: protocol.ServerUnavailable, Server: Name, Message: "the gateway's tools were stopped", Retryable: true}
	for _, number := range slices.Sorted(maps.Keys(s.running)) {
		if d := s.running[number]; s.numbers[d.Call] == number {
			out = append(out, failed(d, fault))
		}
	}
	for _, d := range s.queue.take(func(*queuedCall) bool { return true }) {
		out = append(out, failed(d, fault))
	}
	s.running, s.numbers = nil, nil
	return append(out, kernel.Act(dropIndex{}), kernel.Tell(s.registry, message.Unsubscribe{From: s.self}))
}

func failed(d message.Dispatch, fault *protocol.Fault) kernel.Effect {
	return kernel.Tell(d.Call.Holder, message.Failed{Seq: d.Call.Seq, Fault: fault})
}

package actors

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// drain tracks the gateway's orderly shutdown. A draining gateway accepts no new sessions and waits for the existing ones.
type drain struct {
	started bool
	serving map[kernel.Reference]bool // stateless sessions that have not reported that no client waits for them
	waiting []chan<- struct{}         // closed when drained
}

func (s *state) stepDrain(msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.DrainAll:
		return s.beginDrain(m, out)
	case message.Drained:
		return s.drainEnded(m.From, out)
	}
	return out
}

// beginDrain tells each session to end once it has no running calls, and each stateless session to report once no client
// waits for it.
func (s *state) beginDrain(m message.DrainAll, out []kernel.Effect) []kernel.Effect {
	if s.drain.started {
		s.drain.waiting = append(s.drain.waiting, m.Done)
		return s.checkDrained(out)
	}
	s.drain = drain{started: true, serving: map[kernel.Reference]bool{}, waiting: []chan<- struct{}{m.Done}}
	for _, ref := range s.stateless.refs {
		s.drain.serving[ref] = true
	}
	out = s.stateless.tell(message.DrainSession{}, s.sessions.tell(message.DrainSession{}, out))
	return s.checkDrained(s.eviction.refuseAll(message.NoRoom(kernel.NotRunning), out))
}

// drainEnded records that the drain no longer waits for a stateless session.
func (s *state) drainEnded(ref kernel.Reference, out []kernel.Effect) []kernel.Effect {
	delete(s.drain.serving, ref)
	return s.checkDrained(out)
}

// checkDrained releases the callers that wait for the drain if no session is left and every stateless session has reported.
func (s *state) checkDrained(out []kernel.Effect) []kernel.Effect {
	d := &s.drain
	if !d.started || s.sessions.members.Len()+len(d.serving) > 0 {
		return out
	}
	for _, done := range d.waiting {
		out = append(out, kernel.Act(closeDone{done}))
	}
	d.waiting = nil
	return out
}

package actors

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// Whoever waits for a reload may rely on it: clients see what the new configuration shows and nothing else, and the audit log is where it says. Pools tell
// the registry what has changed of their servers, so each is asked to have that confirmed.

// applying is a reload that somebody waits for.
type applying struct {
	done chan<- struct{}
	who  message.Confirm // what the registry is asked
	left int             // answers of it that are awaited
}

// apply notes who waits for a reload; nil = nobody, or there are no clients yet that could see anything.
func (s *state) apply(done chan<- struct{}) *applying {
	if done == nil || s.registry.IsZero() || s.unseen {
		return nil
	}
	s.reloads++
	return &applying{done: done, who: message.Confirm{Who: s.self, Key: s.reloads}}
}

// another is one more question to the registry, for whoever has just told it something, or will; the zero value = nobody waits.
func (a *applying) another() message.Confirm {
	if a == nil {
		return message.Confirm{}
	}
	a.left++
	return a.who
}

// await has whoever waits told when everything is in force.
func (s *state) await(done chan<- struct{}, a *applying, out []kernel.Effect) []kernel.Effect {
	switch {
	case a != nil:
		s.applying[a.who.Key] = a
		return append(out, kernel.Tell(s.registry, a.another()))
	case done != nil:
		return append(out, kernel.Act(closeDone{done}))
	}
	return out
}

// confirmed: clients see what somebody has told the registry for a reload.
func (s *state) confirmed(m message.ConfirmResult, out []kernel.Effect) []kernel.Effect {
	if a := s.applying[m.Key]; a != nil {
		a.left--
	}
	return s.applied(out)
}

// applied tells those whose reload is in force.
func (s *state) applied(out []kernel.Effect) []kernel.Effect {
	for _, key := range kernel.SortedKeys(s.applying) {
		if a := s.applying[key]; a.left <= 0 && !s.auditing {
			delete(s.applying, key)
			out = append(out, kernel.Act(closeDone{a.done}))
		}
	}
	return out
}

// answerApplying ends the waits for reloads: the gateway is going, or nobody will see anything of them.
func (s *state) answerApplying(out []kernel.Effect) []kernel.Effect {
	for _, key := range kernel.SortedKeys(s.applying) {
		out = append(out, kernel.Act(closeDone{s.applying[key].done}))
	}
	clear(s.applying)
	return out
}

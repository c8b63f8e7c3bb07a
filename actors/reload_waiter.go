package actors

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// reloadWaiter is a caller that waits until a reload is in force: clients see what the new configuration shows and nothing else,
// and the audit log is where it says. Pools report changes of their servers to the registry, so the waiter collects a
// confirmation of the registry for each pool.
type reloadWaiter struct {
	done    chan<- struct{}
	request message.Confirm
	pending int // confirmations not yet received
}

// confirm returns another request for a confirmation. It is passed to an actor that reports to the registry, which then confirms.
// A nil waiter returns the zero Confirm, which asks for none.
func (w *reloadWaiter) confirm() message.Confirm {
	if w == nil {
		return message.Confirm{}
	}
	w.pending++
	return w.request
}

// newWaiter returns the waiter of a caller, or nil if there is none or no client could see a change.
func (s *state) newWaiter(done chan<- struct{}) *reloadWaiter {
	if done == nil || s.registry.IsZero() || s.reloads.registryFailed {
		return nil
	}
	s.reloads.waited++
	return &reloadWaiter{done: done, request: message.Confirm{Who: s.self, Key: s.reloads.waited}}
}

// await closes done when everything is in force; at once if w is nil.
func (s *state) await(done chan<- struct{}, w *reloadWaiter, out []kernel.Effect) []kernel.Effect {
	switch {
	case w != nil:
		s.reloads.waiters[w.request.Key] = w
		return append(out, kernel.Tell(s.registry, w.confirm()))
	case done != nil:
		return append(out, kernel.Act(closeDone{done}))
	}
	return out
}

// confirmed records a confirmation of the registry.
func (r *reloads) confirmed(key uint64) {
	if w := r.waiters[key]; w != nil {
		w.pending--
	}
}

// complete ends the waits that have all confirmations, unless the audit log is still being changed.
func (r *reloads) complete(auditApplying bool, out []kernel.Effect) []kernel.Effect {
	for _, key := range kernel.SortedKeys(r.waiters) {
		if w := r.waiters[key]; w.pending <= 0 && !auditApplying {
			delete(r.waiters, key)
			out = append(out, kernel.Act(closeDone{w.done}))
		}
	}
	return out
}

// completeAll ends all waits: the gateway stops, or clients will not see the change.
func (r *reloads) completeAll(out []kernel.Effect) []kernel.Effect {
	for _, key := range kernel.SortedKeys(r.waiters) {
		out = append(out, kernel.Act(closeDone{r.waiters[key].done}))
	}
	clear(r.waiters)
	return out
}

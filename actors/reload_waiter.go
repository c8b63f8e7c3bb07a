package actors

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// reloadWaiter is a caller that waits until a reload is in force: the catalog that clients see matches the new configuration,
// and so does the audit log. Pools report changes of their servers to the registry, so the waiter collects a confirmation from
// the registry for each pool that the reload changes, and one for the registry's own changes.
type reloadWaiter struct {
	done    chan<- struct{}
	request message.Confirm
	pending int // confirmations not yet received
}

// confirm returns a request for one more confirmation. The actor that receives it reports to the registry, which then confirms.
// A nil waiter returns the zero Confirm, which requests none.
func (w *reloadWaiter) confirm() message.Confirm {
	if w == nil {
		return message.Confirm{}
	}
	w.pending++
	return w.request
}

// newWaiter returns a waiter that closes done. It returns nil if done is nil, or if there is no registry that could show changes to
// clients.
func (s *state) newWaiter(done chan<- struct{}) *reloadWaiter {
	if done == nil || s.registry.IsZero() || s.reloads.registryFailed {
		return nil
	}
	s.reloads.lastWaiter++
	return &reloadWaiter{done: done, request: message.Confirm{From: s.self, Key: s.reloads.lastWaiter}}
}

// await makes w wait for the registry. If w is nil, it closes done at once.
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

// complete releases the waiters that have received all confirmations, unless new audit settings are still being applied.
func (r *reloads) complete(auditApplying bool, out []kernel.Effect) []kernel.Effect {
	for _, key := range kernel.SortedKeys(r.waiters) {
		if w := r.waiters[key]; w.pending <= 0 && !auditApplying {
			delete(r.waiters, key)
			out = append(out, kernel.Act(closeDone{w.done}))
		}
	}
	return out
}

// completeAll releases all waiters. It runs when the gateway stops or clients will see no more changes.
func (r *reloads) completeAll(out []kernel.Effect) []kernel.Effect {
	for _, key := range kernel.SortedKeys(r.waiters) {
		out = append(out, kernel.Act(closeDone{r.waiters[key].done}))
	}
	clear(r.waiters)
	return out
}

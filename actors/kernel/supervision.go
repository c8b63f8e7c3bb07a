package kernel

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// supervision restarts an actor that panicked, up to its limit, and then stops it. A restart or stop also stops the
// actor's children, but affects no other actors.
type supervision struct{ system *System }

// HandleFailure runs on the parent's goroutine, or for a top-level actor on its own.
func (s *supervision) HandleFailure(_ *actor.ActorSystem, parent actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, cause, _ any) {
	c, ok := s.system.find(child.Id)
	if !ok {
		return // stopped in the meantime
	}
	if c.mayRestart(time.Now(), cause) {
		parent.RestartChildren(child)
		return
	}
	c.logger().Error("actor stopped: too many panics", "restarts", c.restarts, "within", c.within)
	c.stop(WhyFailed)
}

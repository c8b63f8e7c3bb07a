package kernel

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// supervision is the strategy of every actor: one for one, restart until the cell's limit, then stop.
type supervision struct{ system *System }

// HandleFailure runs on the parent's goroutine; for an actor at the top on the failed actor's own.
func (s *supervision) HandleFailure(_ *actor.ActorSystem, parent actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, cause, _ any) {
	c, ok := s.system.find(child.Id)
	if !ok {
		return // gone meanwhile
	}
	if c.mayRestart(time.Now(), cause) {
		parent.RestartChildren(child)
		return
	}
	c.logger().Error("actor stopped: too many panics", "restarts", c.restarts, "within", c.within)
	c.stop(WhyFailed)
}

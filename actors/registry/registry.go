package registry

import (
	"log/slog"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
)

// pause is the shortest time between two publications that change what clients see.
const pause = 250 * time.Millisecond

// slice is how many subscribers are told in one go; then the mailbox has its turn.
const slice = 512

// registry is the shell of one incarnation.
type registry struct {
	state   *state
	changes *status.CatalogChanges // for those who watch
}

// Spawn starts the registry as a child of parent, on its goroutine. log may be nil: then the parent's system's logger is used.
// What changes is remembered in changes. It may panic 10 times in 10 seconds before it stops.
func Spawn(parent kernel.Self, naming catalog.Naming, projects []config.Project, changes *status.CatalogChanges, log *slog.Logger) kernel.Reference {
	return kernel.SpawnChild(parent, kernel.SpawnOptions{
		Name: "registry", Kind: "registry", Restarts: 10, Within: 10 * time.Second, Log: log,
	}, build(naming, projects, changes))
}

// build is for one actor only: what the servers offer and who has subscribed outlives a panic and the restart after it.
func build(naming catalog.Naming, projects []config.Project, changes *status.CatalogChanges) func(kernel.Self) kernel.Logic {
	s := newState(naming, projects)
	return func(kernel.Self) kernel.Logic { return &registry{s, changes} }
}

// Step is step (step.go).
func (r *registry) Step(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	return r.state.step(now, msg, out)
}

// Act carries out what is not the kernel's.
func (r *registry) Act(self kernel.Self, act any) {
	switch e := act.(type) {
	case publish:
		var published any = message.Published{Snapshot: e.snapshot}
		for _, to := range e.to {
			to.Tell(published)
		}
	case remember:
		r.changes.Add(e.changes)
	case goOn:
		self.Reference().Tell(e)
	}
}

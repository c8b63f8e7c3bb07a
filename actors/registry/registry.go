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

// slice is how many subscribers are told in one go; then the mailbox has its turn.
const slice = 512

// registry is the shell of one incarnation.
type registry struct {
	state   *state
	changes *status.CatalogChanges // for those who watch
}

// firstWait is how long the first Snapshot waits for the servers that are expected: each pool says at once what is
// remembered of its server, so this passes only when one cannot.
const firstWait = time.Second

// Options are what a registry begins with.
type Options struct {
	Naming   catalog.Naming
	Projects []config.Project
	Changes  *status.CatalogChanges // what changes is remembered there
	Expect   int                    // nobody is told anything before so many servers are known, for at most firstWait
	Log      *slog.Logger           // nil = the parent's system's
}

// Spawn starts the registry as a child of parent, on its goroutine.
// It may panic 10 times in 10 seconds before it stops.
func Spawn(parent kernel.Self, o Options) kernel.Reference {
	return kernel.SpawnChild(parent, kernel.SpawnOptions{
		Name: "registry", Kind: "registry", Restarts: 10, Within: 10 * time.Second, Log: o.Log,
	}, build(o))
}

// build is for one actor only: what the servers offer and who has subscribed outlives a panic and the restart after it.
func build(o Options) func(kernel.Self) kernel.Logic {
	s := newState(o)
	return func(kernel.Self) kernel.Logic { return &registry{s, o.Changes} }
}

// Step is step (step.go).
func (r *registry) Step(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	return r.state.step(now, msg, out)
}

// Act carries out what is not the kernel's.
func (r *registry) Act(self kernel.Self, act any) {
	switch e := act.(type) {
	case publish:
		var published any = message.Published{Snapshot: e.snapshot, Early: e.early}
		for _, to := range e.to {
			to.Tell(published)
		}
	case remember:
		r.changes.Add(e.changes)
	case goOn:
		self.Reference().Tell(e)
	}
}

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

// slice is the number of subscribers notified in one step, before other messages are handled.
const slice = 512

// registry is the shell of one incarnation.
type registry struct {
	state   *state
	changes *status.CatalogChanges // receives the changes, for clients that watch the catalog
}

// firstWait bounds the wait of the first Snapshot for the expected servers. Each pool reports its cached catalog at
// once, so the wait lasts this long only if a pool cannot.
const firstWait = time.Second

// Options configure a registry.
type Options struct {
	Naming   catalog.Naming
	Projects []config.Project
	Changes  *status.CatalogChanges // records the changes
	Expect   int                    // number of servers that must be known before anything is published, for at most firstWait
	Nodes    kernel.Reference       // tells the other nodes of the cluster about changes; zero = the gateway runs alone
	Log      *slog.Logger           // nil = the logger of the parent's system
}

// Spawn starts the registry as a child of parent and must be called on parent's goroutine. The registry is restarted
// after up to 10 panics within 10 seconds. The next panic stops it.
func Spawn(parent kernel.Self, o Options) kernel.Reference {
	return kernel.SpawnChild(parent, kernel.SpawnOptions{
		Name: "registry", Kind: "registry", Restarts: 10, Within: 10 * time.Second, Log: o.Log,
	}, build(o))
}

// build returns the function that builds each incarnation. The servers' lists and the subscribers survive a panic and the
// restart after it.
func build(o Options) func(kernel.Self) kernel.Logic {
	s := newState(o)
	return func(kernel.Self) kernel.Logic { return &registry{s, o.Changes} }
}

// Step implements kernel.Logic.
func (r *registry) Step(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	return r.state.step(now, msg, out)
}

// Act implements kernel.Logic.
func (r *registry) Act(self kernel.Self, act any) {
	switch e := act.(type) {
	case publish:
		var published any = message.Published{Snapshot: e.snapshot, Early: e.early}
		for _, to := range e.to {
			to.Tell(published)
		}
	case remember:
		r.changes.Add(e.changes)
	case notifyMore:
		self.Reference().Tell(e)
	}
}

package serving

import (
	"context"
	"time"

	"goblin-actor/actors"
)

// stopGrace is how long actors and children have to end after the drain.
const stopGrace = 5 * time.Second

// Stop drains and stops; what is left running is an error.
func Stop(g *actors.Gateway, drain time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), drain+stopGrace)
	defer cancel()
	return g.Stop(ctx, drain)
}

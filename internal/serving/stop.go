package serving

import (
	"context"
	"time"
)

// stopGrace is the time for actors and child processes to end after the drain.
const stopGrace = 5 * time.Second

// Stopper is what Stop stops: an *actors.Gateway.
type Stopper interface {
	Stop(ctx context.Context, drain time.Duration) error
}

// Stop drains and stops the gateway. It returns an error if anything is still running at the end.
func Stop(g Stopper, drain time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), drain+stopGrace)
	defer cancel()
	return g.Stop(ctx, drain)
}

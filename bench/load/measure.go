package load

import (
	"context"
	"slices"
	"time"
)

// measure puts the load on all targets at one concurrency, their rounds interleaved and in changing order. It calls ran after each
// target's turn, the warm-up's too: turns(o, targets) times in all.
func Measure(ctx context.Context, targets []*Target, clients int, d time.Duration, rounds int, ran func()) error {
	defer func() {
		for _, t := range targets {
			t.Disconnect()
		}
	}()
	slice := d / time.Duration(rounds)
	for _, t := range targets {
		t.Rounds = nil
		if err := t.Connect(clients); err != nil {
			return err
		}
		if _, err := t.Run(ctx, min(slice, 300*time.Millisecond)); err != nil { // warm-up
			return err
		}
		ran()
	}
	for n := range rounds {
		order := slices.Concat(targets[n%len(targets):], targets[:n%len(targets)])
		for _, t := range order {
			r, err := t.Run(ctx, slice)
			if err != nil {
				return err
			}
			t.Rounds = append(t.Rounds, r)
			ran()
		}
	}
	return nil
}

// turns are how often a target's turn comes at one concurrency.
func Turns(rounds int, targets []*Target) int { return (rounds + 1) * len(targets) }

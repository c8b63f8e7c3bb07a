package load

import (
	"context"
	"slices"
	"time"
)

// Measure applies the load to all targets at one concurrency, in interleaved rounds with rotating order. After each
// target's turn, including the warm-up, it calls ran. In total, these are Turns(rounds, targets) calls.
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

// Turns returns the number of turns of all targets at one concurrency.
func Turns(rounds int, targets []*Target) int { return (rounds + 1) * len(targets) }

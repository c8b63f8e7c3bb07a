package actortest

import (
	"context"
	"sync"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
)

// Probe is an actor that records what it is told.
type Probe struct {
	kernel.Reference
	box *box
}

type box struct {
	mu  sync.Mutex
	got []any
}

func (b *box) Step(_ time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch msg.(type) {
	case kernel.Started, kernel.Stopping:
		return out
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got = append(b.got, msg)
	return out
}

func (*box) Act(kernel.Self, any) {}

// NewProbe spawns a probe at the top of the system.
func NewProbe(system *kernel.System, name string) Probe {
	b := &box{}
	ref := kernel.Spawn(system, kernel.SpawnOptions{Name: name, Kind: "probe"}, func(kernel.Self) kernel.Logic { return b })
	return Probe{ref, b}
}

// Got returns what came so far and forgets it.
func (p Probe) Got() []any {
	p.box.mu.Lock()
	defer p.box.mu.Unlock()
	got := p.box.got
	p.box.got = nil
	return got
}

// Of returns what came so far of type M, and forgets everything.
func Of[M any](p Probe) []M {
	var list []M
	for _, msg := range p.Got() {
		if m, ok := msg.(M); ok {
			list = append(list, m)
		}
	}
	return list
}

// Stop ends a system inside a bubble.
func Stop(t *testing.T, system *kernel.System) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := system.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
}

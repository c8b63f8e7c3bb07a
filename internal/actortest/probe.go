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
	answer func(msg any) []kernel.Effect // nil, or what it answers is not recorded
	mu     sync.Mutex
	got    []any
}

func (b *box) Step(_ time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch msg.(type) {
	case kernel.Started, kernel.Stopping:
		return out
	}
	if b.answer != nil {
		if effects := b.answer(msg); effects != nil {
			return append(out, effects...)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got = append(b.got, msg)
	return out
}

func (*box) Act(kernel.Self, any) {}

// NewProbe spawns a probe at the top of the system.
func NewProbe(system *kernel.System, name string) Probe {
	return NewAnsweringProbe(system, name, nil)
}

// NewAnsweringProbe spawns a probe that answers some messages, which it does not record. answer may be nil.
func NewAnsweringProbe(system *kernel.System, name string, answer func(msg any) []kernel.Effect) Probe {
	b := &box{answer: answer}
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

// Child spawns an actor that needs a parent, by an actor that does nothing else.
func Child(system *kernel.System, spawn func(kernel.Self) kernel.Reference) kernel.Reference {
	born := make(chan kernel.Reference, 1)
	kernel.Spawn(system, kernel.SpawnOptions{Name: "parent"}, func(kernel.Self) kernel.Logic { return parent{spawn, born} })
	return <-born
}

type parent struct {
	spawn func(kernel.Self) kernel.Reference
	born  chan<- kernel.Reference
}

func (parent) Step(_ time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	if _, ok := msg.(kernel.Started); ok {
		return append(out, kernel.Act("spawn"))
	}
	return out
}

func (p parent) Act(self kernel.Self, _ any) { p.born <- p.spawn(self) }

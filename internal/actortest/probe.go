package actortest

import (
	"context"
	"sync"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
)

// Probe is an actor that records its messages.
type Probe struct {
	kernel.Reference
	recorder *recorder
}

type recorder struct {
	answer func(msg any) []kernel.Effect // may be nil; messages for which it returns effects are not recorded
	mu     sync.Mutex
	got    []any
}

func (b *recorder) Step(_ time.Time, msg any, out []kernel.Effect) []kernel.Effect {
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

func (*recorder) Act(kernel.Self, any) {}

// NewProbe starts a probe as a root actor.
func NewProbe(system *kernel.System, name string) Probe {
	return NewAnsweringProbe(system, name, nil)
}

// NewAnsweringProbe starts a probe that reacts to some messages with effects. It does not record these. answer may be
// nil.
func NewAnsweringProbe(system *kernel.System, name string, answer func(msg any) []kernel.Effect) Probe {
	b := &recorder{answer: answer}
	ref := kernel.Spawn(system, kernel.SpawnOptions{Name: name, Kind: "probe"}, func(kernel.Self) kernel.Logic { return b })
	return Probe{ref, b}
}

// Got returns the recorded messages and clears the record.
func (p Probe) Got() []any {
	p.recorder.mu.Lock()
	defer p.recorder.mu.Unlock()
	got := p.recorder.got
	p.recorder.got = nil
	return got
}

// Of returns the recorded messages of type M and clears the record.
func Of[M any](p Probe) []M {
	var list []M
	for _, msg := range p.Got() {
		if m, ok := msg.(M); ok {
			list = append(list, m)
		}
	}
	return list
}

// Stop stops a system inside a bubble.
func Stop(t *testing.T, system *kernel.System) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := system.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// Child starts an actor that needs a parent. It creates the parent, an actor that does nothing else.
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

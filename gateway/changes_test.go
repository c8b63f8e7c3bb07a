package gateway_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"goblin-actor/gateway"
)

// S2.4.1: changes are typed; who does not take them in time is told how many are lost; nothing comes after the end.
func TestChanges(t *testing.T) {
	ctx, g := within(t), start(t, gateway.Config{}, "shapes")
	changes := g.Changes(ctx)
	if _, err := g.CallTool(ctx, "shapes_grow", nil, nil); err != nil {
		t.Fatal(err)
	}
	for range 2 { // who ranges twice begins again
		for c := range changes {
			if c.Topic != "tool-changed" || c.Server != "shapes" || !slices.Equal(c.Added, []string{"shapes_fresh"}) || c.Counts.Added != 1 || c.Missed != 0 {
				t.Errorf("%+v", c)
			}
			if _, err := g.CallTool(ctx, "shapes_fresh", nil, nil); err != nil {
				t.Errorf("it is told, and not there: %v", err)
			}
			break
		}
	}
	ended, end := context.WithCancel(ctx)
	end()
	for c := range g.Changes(ended) {
		t.Errorf("after the end: %+v", c)
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		for range g.Changes(t.Context()) {
		}
	})
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	wait.Wait()
}

// Subscribers hear of updates, each for himself, and no more when they have left.
func TestSubscribe(t *testing.T) {
	ctx, g := within(t), start(t, gateway.Config{}, "clock", "notes")
	const now = "resource://clock/clock://now"
	first, leave := context.WithCancel(ctx)
	a, err := g.Subscribe(first, now)
	if err != nil {
		t.Fatal(err)
	}
	b, err := g.Subscribe(ctx, now)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		<-a
		<-b
	}
	leave()
	for range a { // until it is closed
	}
	<-b
	<-b
	if _, err := g.Subscribe(ctx, "nobody://x"); codeOf(err) != "RESOURCE_NOT_FOUND" {
		t.Errorf("nobody's resource: %v", err)
	}
	again, err := g.Subscribe(ctx, now)
	if err != nil {
		t.Fatal(err)
	}
	<-again
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	for range b {
	}
	for range again {
	}
	if _, err := g.Subscribe(ctx, now); !errors.Is(err, gateway.ErrStopped) {
		t.Errorf("after the end: %v", err)
	}
}

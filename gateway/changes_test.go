package gateway_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"goblin-actor/gateway"
)

// S2.4.1: a change names its topic, its server and the items. Each range over the changes starts at the same point, and
// nothing is yielded after the end of the context.
func TestChanges(t *testing.T) {
	ctx, g := within(t), start(t, gateway.Config{}, "shapes")
	changes := g.Changes(ctx)
	if _, err := g.CallTool(ctx, "shapes_grow", nil, nil); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second range starts from the same point
		for c := range changes {
			if c.Topic != "tool-changed" || c.Server != "shapes" || !slices.Equal(c.Added, []string{"shapes_fresh"}) || c.Counts.Added != 1 || c.Missed != 0 {
				t.Errorf("got the change %+v, want one added tool, shapes_fresh", c)
			}
			if _, err := g.CallTool(ctx, "shapes_fresh", nil, nil); err != nil {
				t.Errorf("call of the announced tool: %v", err)
			}
			break
		}
	}
	ended, end := context.WithCancel(ctx)
	end()
	for c := range g.Changes(ended) {
		t.Errorf("change after the context ended: %+v", c)
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

// Each subscriber is notified independently. Its channel is closed when its context ends or the gateway is closed.
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
	if _, err := g.Subscribe(ctx, "absent://x"); codeOf(err) != "RESOURCE_NOT_FOUND" {
		t.Errorf("subscribe to a resource that no server has: %v", err)
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
		t.Errorf("subscribe after Close: %v", err)
	}
}

package process

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

type testFence struct {
	free atomic.Bool // not held
	lost chan struct{}
}

func (f *testFence) Held() bool            { return !f.free.Load() }
func (f *testFence) Lost() <-chan struct{} { return f.lost }

// A program ends at once when its fence is lost.
func TestFenceIsLost(t *testing.T) {
	f := &testFence{lost: make(chan struct{})}
	o := childOptions(t, "stubborn")
	o.Fence = f
	_, r := testOpen(t, o)
	linktest.Wait[upstream.Opened](r, 1)
	began := time.Now()
	close(f.lost)
	if c := linktest.Wait[upstream.Closed](r, 1); !errors.Is(c.Err, errFenced) {
		t.Errorf("Closed: %v", c.Err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the program ended after %v", took)
	}
}

// A frame is refused, and the program ends, if the fence is no longer held, even before it is reported as lost: the gateway may have
// been stopped for a while.
func TestFenceIsNotHeld(t *testing.T) {
	f := &testFence{lost: make(chan struct{})}
	o := childOptions(t, "echo")
	o.Fence = f
	l, r := testOpen(t, o)
	linktest.Wait[upstream.Opened](r, 1)
	f.free.Store(true)
	l.Send(upstream.Outgoing{Ticket: 1, Frame: linktest.Request(1), Request: true, RunInline: runAnywhere})
	if refused := linktest.Wait[upstream.NotSent](r, 1); !errors.Is(refused.Err, errFenced) {
		t.Errorf("NotSent: %v", refused.Err)
	}
	linktest.Wait[upstream.Closed](r, 1)
}

// A program is not started if its fence is not held.
func TestFenceForbidsTheStart(t *testing.T) {
	f := &testFence{lost: make(chan struct{})}
	f.free.Store(true)
	o := childOptions(t, "echo")
	o.Fence = f
	_, r := testOpen(t, o)
	if c := linktest.Wait[upstream.Closed](r, 1); !errors.Is(c.Err, errFenced) || len(r.Events()) != 1 {
		t.Errorf("Closed: %v after %d events", c.Err, len(r.Events()))
	}
}

package kernel

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

func restart(r Reference) { r.cell.box.PostSystemMessage(&actor.Restart{}) }

// Top-level actors stop one after the other, the youngest first, each with its children before the next.
func TestStopOrder(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		var stopped []string
		note := func(self Self, msg any) {
			if m, ok := msg.(Stopping); ok {
				stopped = append(stopped, self.Name())
				if m.Reason != WhyShutdown {
					t.Errorf("%s: why %q", self.Name(), m.Reason)
				}
			}
		}
		for i := range 3 {
			Spawn(s, SpawnOptions{Name: strconv.Itoa(i)}, on(func(self Self, msg any) {
				if _, ok := msg.(Started); ok {
					SpawnChild(self, SpawnOptions{Name: "c"}, on(note))
				}
				note(self, msg)
			}))
		}
		synctest.Wait()
		var group sync.WaitGroup
		for range 3 { // concurrently, and once more by bubble
			group.Go(func() {
				if err := s.Stop(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if want := []string{"2", "2/c", "1", "1/c", "0", "0/c"}; !slices.Equal(stopped, want) {
			t.Errorf("stopped %v, want %v", stopped, want)
		}
		if r := Spawn(s, SpawnOptions{Name: "late"}, on(note)); !r.IsZero() {
			t.Errorf("Spawn after Stop = %v", r)
		}
	})
}

// An actor or a goroutine that hangs uses up Stop's context. The others still stop.
func TestStopIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		g, h := make(gate), make(gate)
		other := Spawn(s, SpawnOptions{Name: "other"}, on(func(Self, any) {}))
		Spawn(s, SpawnOptions{Name: "hung"}, on(func(self Self, msg any) {
			if msg == (Started{}) {
				self.Go(func(context.Context) any { <-h; return nil })
				<-g
			}
		}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := s.Stop(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "hung") || !strings.Contains(err.Error(), "1 goroutines") {
			t.Errorf("Stop() = %v", err)
		}
		synctest.Wait()
		if _, ok := s.Lookup(other.Name()); ok {
			t.Error("the other actor still runs")
		}
		close(g)
		close(h)
	})
}

// After Stop no goroutine is left, not even one of the dispatcher.
func TestNoGoroutineIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	s := New(Options{})
	var seen sync.WaitGroup
	for i := range 200 {
		seen.Add(1)
		spawnPure(s, strconv.Itoa(i), 0, &seen).Tell(&work{})
	}
	seen.Wait()
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	for begun := time.Now(); time.Since(begun) < time.Minute; runtime.Gosched() {
		if runtime.NumGoroutine() <= before { // goroutines that are no longer counted may not have returned yet
			return
		}
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

// A message that protoactor could not deliver is abandoned.
func TestDeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		a := newAsk(0)
		s.root.Send(s.proto.NewLocalPID("unknown"), a)
		if a.answer() != string(NotRunning) || s.DeadLetters() != 1 {
			t.Errorf("dead letter: %s, counted %d", a.answer(), s.DeadLetters())
		}
	})
}

// A message whose Abandon panics does not keep other messages from being abandoned.
func TestAbandonPanics(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		g := make(gate)
		r := Spawn(s, SpawnOptions{Name: "a"}, on(func(self Self, msg any) {
			if m, ok := msg.(gate); ok {
				<-m
				self.Stop()
			}
		}))
		a := newAsk(0)
		r.Tell(g)
		r.Tell(spiteful{})
		r.Tell(a)
		close(g)
		synctest.Wait()
		if a.answer() != string(ReceiverStopped) {
			t.Errorf("the message queued after the panicking one: %s", a.answer())
		}
	})
}

type spiteful struct{}

func (spiteful) Abandon(Reason) { panic("spite") }

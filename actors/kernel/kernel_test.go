package kernel

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// script is a Logic whose effects are functions.
type script struct {
	step  func(now time.Time, msg any) []func(Self)
	flush func(Self)
}

func (s *script) Step(now time.Time, msg any, out []func(Self)) []func(Self) {
	return append(out, s.step(now, msg)...)
}

func (s *script) Do(self Self, effect func(Self)) { effect(self) }

func (s *script) Flush(self Self) {
	if s.flush != nil {
		s.flush(self)
	}
}

// on makes an actor that calls f on its goroutine for every message.
func on(f func(self Self, msg any)) func(Self) Logic[func(Self)] {
	return func(Self) Logic[func(Self)] {
		return &script{step: func(_ time.Time, msg any) []func(Self) {
			return []func(Self){func(self Self) { f(self, msg) }}
		}}
	}
}

// bubble runs f with a system inside a synctest bubble and stops the system.
func bubble(t *testing.T, f func(t *testing.T, s *System)) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		f(t, s)
		if err := s.Stop(t.Context()); err != nil {
			t.Errorf("Stop() = %v", err)
		}
	})
}

type ask struct{ reply chan string }

func (a *ask) Abandon(why Why) { answer(a.reply, string(why)) }

func answer(reply chan string, text string) {
	select {
	case reply <- text:
	default:
	}
}

func TestAsk(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		r := Spawn(s, SpawnOptions{Name: "a/b"}, on(func(_ Self, msg any) {
			if a, ok := msg.(*ask); ok {
				answer(a.reply, "handled")
			}
		}))
		a := &ask{make(chan string, 1)}
		r.Tell(a)
		if got := <-a.reply; got != "handled" {
			t.Errorf("ask: got %q", got)
		}
		if found, ok := s.Lookup("a/b"); !ok || found != r {
			t.Errorf("Lookup = %v, %v, want %v", found, ok, r)
		}
	})
}

func TestStopTwice(t *testing.T) {
	s := New(Options{})
	for range 2 {
		if err := s.Stop(context.Background()); err != nil {
			t.Errorf("Stop() = %v", err)
		}
	}
}

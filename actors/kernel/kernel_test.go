package kernel

import (
	"testing"
	"testing/synctest"
	"time"
)

// script is a Logic whose effects are functions.
type script struct {
	step func(now time.Time, msg any) []func(Self)
}

func (s *script) Step(now time.Time, msg any, out []Effect) []Effect {
	for _, f := range s.step(now, msg) {
		out = append(out, Act(f))
	}
	return out
}

func (*script) Act(self Self, act any) { act.(func(Self))(self) }

// on returns a build function for Spawn. Its Logic calls f on the actor's goroutine for every message, as an effect.
func on(f func(self Self, msg any)) func(Self) Logic {
	return func(Self) Logic {
		return &script{step: func(_ time.Time, msg any) []func(Self) {
			return []func(Self){func(self Self) { f(self, msg) }}
		}}
	}
}

// bubble runs f with a system in a synctest bubble, and then stops the system. The test fails if Stop returns an error
// or protoactor counts a dead letter.
func bubble(t *testing.T, f func(t *testing.T, s *System)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		f(t, s)
		if err := s.Stop(t.Context()); err != nil {
			t.Errorf("Stop() = %v", err)
		}
		if n := s.DeadLetters(); n != 0 {
			t.Errorf("DeadLetters() = %d, want 0", n)
		}
	})
}

// ask is a Work message with an answer. said receives "handled" or the Reason; the second slot reveals a second answer.
type ask struct {
	id   int
	said chan string // capacity 2
}

func newAsk(id int) *ask { return &ask{id, make(chan string, 2)} }

func (a *ask) Abandon(why Reason) { a.said <- string(why) }

func (a *ask) handled() { a.said <- "handled" }

// answer returns the answer that said received, "none" if there is none yet, or "twice" if there is a second one.
func (a *ask) answer() string {
	switch len(a.said) {
	case 0:
		return "none"
	case 1:
		answer := <-a.said
		a.said <- answer
		return answer
	}
	return "twice"
}

// classed is an ask of any class, with a key.
type classed struct {
	ask
	class Class
	key   string
}

func (c *classed) Class() Class { return c.class }
func (c *classed) Key() any     { return c.key }

func newClassed(id int, class Class, key string) *classed {
	return &classed{*newAsk(id), class, key}
}

// gate is a message that keeps its actor busy until the channel is closed.
type gate chan struct{}

func TestLookup(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		r := Spawn(s, SpawnOptions{Name: "session/a"}, on(func(self Self, msg any) {
			if a, ok := msg.(*ask); ok {
				a.handled()
				self.Stop()
			}
		}))
		if r.Name() != "session/a" || r.String() != "session/a" || r.IsZero() {
			t.Errorf("reference: got %v", r)
		}
		if found, ok := s.Lookup("session/a"); !ok || found != r {
			t.Errorf("Lookup() = %v, %v, want the actor", found, ok)
		}
		if again := Spawn(s, SpawnOptions{Name: "session/a"}, on(func(Self, any) {})); !again.IsZero() {
			t.Errorf("Spawn of a taken name = %v, want zero", again)
		}
		if own := Spawn(s, SpawnOptions{Name: "deadletter"}, on(func(Self, any) {})); !own.IsZero() {
			t.Errorf("Spawn of protoactor's own name = %v, want zero", own)
		}
		a := newAsk(0)
		r.Tell(a)
		synctest.Wait()
		if a.answer() != "handled" {
			t.Errorf("ask: got %s", a.answer())
		}
		if found, ok := s.Lookup("session/a"); ok {
			t.Errorf("Lookup() after the actor stopped = %v, want none", found)
		}
		if _, ok := s.Lookup("deadletter"); ok {
			t.Error("Lookup finds protoactor's own actor")
		}
		if r2 := Spawn(s, SpawnOptions{Name: "session/a"}, on(func(Self, any) {})); r2.IsZero() || r2 == r {
			t.Errorf("Spawn with the stopped actor's name = %v, want a new reference", r2)
		}
	})
}

func TestZeroReference(t *testing.T) {
	var r Reference
	a := newAsk(0)
	r.Tell(a)
	r.Tell("a message without Abandon")
	if a.answer() != string(NotRunning) || !r.IsZero() || r.Name() != "" {
		t.Errorf("zero reference: %v said %s", r, a.answer())
	}
	if err := r.TellWait(t.Context(), a); err != ErrGone {
		t.Errorf("TellWait() = %v, want ErrGone", err)
	}
}

func TestActors(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		g := make(gate)
		r := Spawn(s, SpawnOptions{Name: "b", Kind: "pool", Mailbox: 3}, on(func(_ Self, msg any) {
			switch m := msg.(type) {
			case gate:
				<-m
			case string:
				panic(m)
			}
		}))
		Spawn(s, SpawnOptions{Name: "a", Kind: "session"}, on(func(Self, any) {}))
		r.Tell("first")
		synctest.Wait()
		r.Tell(glance{})
		r.Tell(g)
		synctest.Wait()
		for i := range 5 {
			r.Tell(newAsk(i))
		}
		for i := range logLimit + 1 {
			r.Tell(newClassed(i, LogLine, ""))
		}
		want := []Info{
			{Name: "a", Kind: "session"},
			{Name: "b", Kind: "pool", Depth: 3 + logLimit, Handled: 2, Refused: 2, Dropped: 1, Panics: 1, Restarts: 1, Last: "kernel.gate"},
		}
		if got := s.Actors(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
			t.Errorf("Actors() = %+v, want %+v", got, want)
		}
		close(g)
	})
}

// glance is a message that Info neither counts nor shows.
type glance struct{}

func (glance) Observation() {}

// An actor whose handler calls runtime.Goexit, as t.FailNow does, is restarted as after a panic.
func TestGoexit(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		r := Spawn(s, SpawnOptions{Name: "a"}, on(func(_ Self, msg any) {
			switch m := msg.(type) {
			case exit:
				goexit()
			case *ask:
				m.handled()
			}
		}))
		a := newAsk(0)
		r.Tell(exit{})
		r.Tell(a)
		synctest.Wait()
		if a.answer() != "handled" || s.Actors()[0].Panics != 1 {
			t.Errorf("after Goexit: %s, %+v", a.answer(), s.Actors())
		}
	})
}

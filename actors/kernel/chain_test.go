package kernel

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// telling is a Logic that returns its messages as effects, as real actors do.
type telling func(msg any, out []Effect) []Effect

func (f telling) Step(_ time.Time, msg any, out []Effect) []Effect { return f(msg, out) }
func (telling) Act(Self, any)                                      {}

func spawnTelling(s *System, name string, f telling) Reference {
	return Spawn(s, SpawnOptions{Name: name}, func(Self) Logic { return f })
}

// A message sent with TellInline or TellWait passes through idle actors on its sender's goroutine.
func TestIdleActorsRunOnTheSendersGoroutine(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		var said []any // without a lock: the race detector proves that the goroutines run one after the other
		last := spawnTelling(s, "last", func(msg any, out []Effect) []Effect {
			if _, ok := msg.(int); ok {
				said = append(said, msg)
			}
			return out
		})
		first := spawnTelling(s, "first", func(msg any, out []Effect) []Effect {
			if n, ok := msg.(int); ok {
				out = append(out, Tell(last, n+1))
			}
			return out
		})
		synctest.Wait()
		first.TellInline(1)
		if len(said) != 1 || said[0] != 2 {
			t.Errorf("TellInline: said %v", said)
		}
		if err := first.TellWait(t.Context(), 2); err != nil || len(said) != 2 || said[1] != 3 {
			t.Errorf("TellWait: said %v, %v", said, err)
		}
	})
}

// Two actors that keep sending to each other use a caller's goroutine for a limited share, and continue on another one.
func TestInlineShareIsLimited(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		var here, there Reference
		handled := make(chan struct{}, 1)
		pong := func(to *Reference) telling {
			return func(msg any, out []Effect) []Effect {
				if n, ok := msg.(int); ok && n < 1000 {
					return append(out, Tell(*to, n+1))
				} else if ok {
					handled <- struct{}{}
				}
				return out
			}
		}
		here, there = spawnTelling(s, "here", pong(&there)), spawnTelling(s, "there", pong(&here))
		synctest.Wait()
		here.TellInline(0)
		if len(handled) != 0 {
			t.Error("the caller's goroutine has done all the work")
		}
		<-handled
	})
}

// A busy actor yields to the actors it has woken.
func TestBusyActorYieldsToWokenActors(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		var handled, when atomic.Int32
		woken := spawnTelling(s, "woken", func(msg any, out []Effect) []Effect {
			if msg == 0 {
				when.Store(handled.Load())
			}
			return out
		})
		g := make(gate)
		busy := spawnTelling(s, "busy", func(msg any, out []Effect) []Effect {
			switch m := msg.(type) {
			case gate:
				<-m
			case int:
				if handled.Add(1); m == 0 {
					return append(out, Tell(woken, m))
				}
			}
			return out
		})
		synctest.Wait()
		busy.Tell(g)
		for i := range 1000 {
			busy.Tell(i)
		}
		close(g)
		synctest.Wait()
		if n := when.Load(); n < 1 || n > clockInterval {
			t.Errorf("woken by the first message, handled after %d", n)
		}
	})
}

// If a handler ends its goroutine, the other mailboxes of the chain still run.
func TestGoexitKeepsTheChain(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		said := newAsk(1)
		second := Spawn(s, SpawnOptions{Name: "second"}, on(func(_ Self, msg any) {
			if a, ok := msg.(*ask); ok {
				a.handled()
			}
		}))
		mean := spawnTelling(s, "mean", func(msg any, out []Effect) []Effect {
			if msg == "end" {
				runtime.Goexit()
			}
			return out
		})
		first := spawnTelling(s, "first", func(msg any, out []Effect) []Effect {
			if a, ok := msg.(*ask); ok {
				return append(out, Tell(mean, "end"), Tell(second, a))
			}
			return out
		})
		synctest.Wait()
		go first.TellInline(said)
		synctest.Wait()
		if said.answer() != "handled" {
			t.Errorf("second: %s", said.answer())
		}
	})
}

type job func()

func (j job) Do() { j() }

// lending returns an actor that runs a job on the goroutine of the inline call, if that is available.
func lending(s *System, name string, said *[]string) Reference {
	return Spawn(s, SpawnOptions{Name: name}, on(func(self Self, msg any) {
		if _, ok := msg.(*ask); !ok {
			return
		}
		if !self.RunInline(job(func() { *said = append(*said, "done") })) {
			*said = append(*said, "refused")
		}
		if !self.RunInline(job(func() {})) {
			*said = append(*said, "one is enough")
		}
	}))
}

// The goroutine of an inline call does one job, set while its message or the messages caused by it are handled. It does
// none for other messages.
func TestRunInline(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		var said []string
		second := lending(s, "second", &said)
		last := spawnTelling(s, "last", func(msg any, out []Effect) []Effect {
			if _, ok := msg.(*ask); ok {
				said = append(said, "last")
			}
			return out
		})
		first := spawnTelling(s, "first", func(msg any, out []Effect) []Effect {
			if a, ok := msg.(*ask); ok {
				return append(out, Tell(second, a), Tell(last, a))
			}
			return out
		})
		synctest.Wait()
		expect := func(want ...string) {
			t.Helper()
			synctest.Wait()
			if !slices.Equal(said, want) {
				t.Errorf("said %q, want %q", said, want)
			}
			said = nil
		}
		first.TellInline(newAsk(1))
		expect("one is enough", "last", "done")
		first.Tell(newAsk(2))
		expect("refused", "one is enough", "last")
		if err := first.TellWait(t.Context(), newAsk(3)); err != nil {
			t.Error(err)
		}
		expect("refused", "one is enough", "last")
	})
}

// A message queued at a busy actor is not handled on its sender's goroutine, so RunInline returns false.
func TestBusyActorCannotRunInline(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		lent := make(chan bool, 1)
		g := make(gate)
		busy := Spawn(s, SpawnOptions{Name: "busy"}, on(func(self Self, msg any) {
			switch m := msg.(type) {
			case gate:
				<-m
			case *ask:
				lent <- self.RunInline(job(func() {}))
			}
		}))
		busy.Tell(g)
		synctest.Wait()
		busy.TellInline(newAsk(1))
		close(g)
		if <-lent {
			t.Error("RunInline used a goroutine that has ended")
		}
	})
}

// If a handler ends its goroutine, the job runs on another one.
func TestGoexitKeepsTheJob(t *testing.T) {
	bubble(t, func(_ *testing.T, s *System) {
		done := make(chan struct{})
		mean := Spawn(s, SpawnOptions{Name: "mean"}, on(func(self Self, msg any) {
			if msg == "end" && self.RunInline(job(func() { close(done) })) {
				runtime.Goexit()
			}
		}))
		synctest.Wait()
		go mean.TellInline("end")
		<-done
	})
}

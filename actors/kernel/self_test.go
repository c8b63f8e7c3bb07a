package kernel

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"
)

// list collects events. The mutex is needed because the race detector sees no order between timers.
type list struct {
	mu    sync.Mutex
	items []any
}

func (l *list) add(item any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.items = append(l.items, item)
}

func (l *list) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprint(l.items)
}

// Stopping is the last message. Its effects are performed before the queue is abandoned.
func TestStoppingIsLast(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		var pending []*ask
		var queued *ask
		var atStopping string
		g := make(gate)
		r := Spawn(s, SpawnOptions{Name: "a"}, on(func(self Self, msg any) {
			switch m := msg.(type) {
			case *ask:
				pending = append(pending, m)
			case gate:
				<-m
				self.Stop()
			case Stopping:
				for _, a := range pending {
					a.handled()
				}
				atStopping = queued.answer()
				self.Reference().Tell("to myself: abandoned")
			case string:
				t.Error("a message was handled after Stopping")
			}
		}))
		for i := range 3 {
			r.Tell(newAsk(i))
		}
		synctest.Wait()
		held := pending
		r.Tell(g)
		synctest.Wait()
		queued = newAsk(4)
		r.Tell(queued)
		close(g)
		synctest.Wait()
		if len(held) != 3 || held[0].answer() != "handled" || atStopping != "none" || queued.answer() != string(ReceiverStopped) {
			t.Errorf("held %d %s, queued at Stopping: %s, then %s", len(held), held[0].answer(), atStopping, queued.answer())
		}
	})
}

// Timers fire once, at their time. Those of a former incarnation are abandoned.
func TestAfter(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		var got list
		late := newAsk(0)
		r := Spawn(s, SpawnOptions{Name: "a"}, on(func(self Self, msg any) {
			switch m := msg.(type) {
			case Started:
				self.After(time.Second, "tick")
				self.After(2*time.Second, late)
			case string:
				got.add(m)
			case *ask:
				t.Error("a timer of a former incarnation fired")
			case error:
				panic(m)
			}
		}))
		time.Sleep(time.Second - time.Nanosecond)
		synctest.Wait()
		if got.String() != "[]" {
			t.Error("the timer fired too early")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if got.String() != "[tick]" {
			t.Errorf("got %v, want one tick", &got)
		}
		first := late
		late = newAsk(1)
		r.Tell(errBug) // the second incarnation starts its own timers at 1 s
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		if got.String() != "[tick tick]" {
			t.Errorf("got %v, want a tick of each incarnation", &got)
		}
		if first.answer() != string(ReceiverStopped) {
			t.Errorf("timer of the first incarnation: %s", first.answer())
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if got.String() != "[tick tick]" || late.answer() != string(NotRunning) {
			t.Errorf("an hour later: %v; the timer of the stopped actor: %s", &got, late.answer())
		}
	})
}

// A pending timer does not keep a stopped actor in memory. A session's idle timer used to keep 4 KiB for half an hour.
func TestTimersKeepNoActorInMemory(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		held := spawnHeavy(s)
		synctest.Wait()
		for range 10 { // finalizers and pools need more than one cycle
			runtime.GC()
			if held.Value() == nil {
				break
			}
		}
		if held.Value() != nil {
			t.Error("the state of a stopped actor is still reachable")
		}
		time.Sleep(2 * time.Hour)
	})
}

// spawnHeavy starts an actor that sets a timer and stops. The returned pointer is weak: only the actor's state keeps
// the memory reachable.
func spawnHeavy(s *System) weak.Pointer[[1 << 16]byte] {
	state := new([1 << 16]byte)
	Spawn(s, SpawnOptions{Name: "heavy"}, on(func(self Self, msg any) {
		if _, ok := msg.(Started); ok {
			state[0]++
			self.After(time.Hour, "tick")
			self.Stop()
		}
	}))
	return weak.Make(state)
}

func TestGo(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		var got list
		late := newAsk(0)
		var ended, inDo atomic.Int32
		r := Spawn(s, SpawnOptions{Name: "a", Mailbox: 1}, on(func(self Self, msg any) {
			switch m := msg.(type) {
			case Started, Stopping:
			case string:
				self.Go(func(ctx context.Context) any {
					switch m {
					case "result":
						time.Sleep(time.Second)
						return 1
					case "panic":
						panic("in Go")
					case "exit":
						goexit()
					case "late":
						<-ctx.Done()
						ended.Add(1)
						return late
					}
					return nil
				})
				inDo.Add(1)
			case error:
				panic(m)
			default:
				got.add(m)
			}
		}))
		for _, what := range []string{"result", "nothing", "panic", "exit"} {
			r.Tell(what)
			time.Sleep(2 * time.Second)
		}
		synctest.Wait()
		if want := "[1 {panic: in Go}]"; got.String() != want {
			t.Errorf("got %v, want %s", &got, want)
		}
		r.Tell("late")
		synctest.Wait()
		if ended.Load() != 0 {
			t.Error("context ended too early")
		}
		r.Tell(errBug)
		synctest.Wait()
		if ended.Load() != 1 || late.answer() != string(ReceiverStopped) {
			t.Errorf("ended %d, late result %s", ended.Load(), late.answer())
		}
		late = newAsk(1)
		r.Tell("late")
		synctest.Wait()
		if err := s.Stop(t.Context()); err != nil { // waits for the function
			t.Error(err)
		}
		if ended.Load() != 2 || late.answer() != string(ReceiverStopped) && late.answer() != string(NotRunning) {
			t.Errorf("after Stop: ended %d, late result %s", ended.Load(), late.answer())
		}
	})
}

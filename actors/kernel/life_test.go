package kernel

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// diary records the messages of the actors whose Logic it builds, such as "a#1 started".
type diary struct {
	mu    sync.Mutex
	lines []string
	lives map[string]int
}

func (d *diary) write(parts ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprint(parts...))
}

// life counts a new incarnation of the actor and returns its label, such as "a#1 ".
func (d *diary) life(name string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lives == nil {
		d.lives = make(map[string]int)
	}
	d.lives[name]++
	return fmt.Sprintf("%s#%d ", name, d.lives[name])
}

func (d *diary) build(extra func(self Self, msg any)) func(Self) Logic {
	return func(self Self) Logic {
		life := d.life(self.Name())
		return &script{step: func(_ time.Time, msg any) []func(Self) {
			switch m := msg.(type) {
			case Started:
				d.write(life, "started")
			case Stopping:
				d.write(life, m.Reason)
			case ChildStopped:
				d.write(life, m.Name, " gone ", m.Err)
			case string:
				d.write(life, m)
			case error:
				panic(m)
			}
			if extra == nil {
				return nil
			}
			return []func(Self){func(self Self) { extra(self, msg) }}
		}}
	}
}

func (d *diary) expect(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.lines, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(d.lines, "\n"), strings.Join(want, "\n"))
	}
	d.lines = nil
}

var errBug = errors.New("bug")

// A panic loses only the message being handled. The queued messages go to the next incarnation, in order.
func TestPanicKeepsTheQueue(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		var d diary
		g := make(gate)
		bad := newAsk(1)
		r := Spawn(s, SpawnOptions{Name: "a"}, d.build(func(_ Self, msg any) {
			switch m := msg.(type) {
			case gate:
				<-m
			case *ask:
				panic("in Do")
			}
		}))
		r.Tell(g)
		synctest.Wait()
		for _, msg := range []any{"before", bad, "after", errBug, "last"} {
			r.Tell(msg)
		}
		close(g)
		d.expect(t, "a#1 started", "a#1 before", "a#1 restarting", "a#2 started", "a#2 after", "a#2 restarting", "a#3 started", "a#3 last")
		if bad.answer() != string(Panicked) {
			t.Errorf("the message that panicked: %s", bad.answer())
		}
		if i := s.Actors()[0]; i.Panics != 2 || i.Restarts != 2 {
			t.Errorf("Actors() = %+v", i)
		}
	})
}

// Of 100 calls, 10 panic: 90 are handled, 10 are answered with an internal error, and none waits forever.
func TestTenOfHundredPanic(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		r := Spawn(s, SpawnOptions{Name: "a"}, on(func(_ Self, msg any) {
			if a, ok := msg.(*ask); ok {
				if a.id%10 == 0 {
					panic("tenth")
				}
				a.handled()
			}
		}))
		var asks []*ask
		for i := range 100 {
			asks = append(asks, newAsk(i))
			r.Tell(asks[i])
		}
		synctest.Wait()
		count := map[string]int{}
		for _, a := range asks {
			count[a.answer()]++
		}
		if got := fmt.Sprint(count); got != "map[handled:90 internal error:10]" {
			t.Errorf("answers: %s", got)
		}
	})
}

// After more than Restarts panics within Within the actor stops and abandons its queue. Older panics do not count.
func TestRestartLimit(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		var d diary
		r := Spawn(s, SpawnOptions{Name: "a", Restarts: 1, Within: time.Minute}, d.build(nil))
		r.Tell(errBug)
		time.Sleep(time.Minute)
		r.Tell(errBug)
		d.expect(t, "a#1 started", "a#1 restarting", "a#2 started", "a#2 restarting", "a#3 started")
		time.Sleep(time.Minute - time.Nanosecond)
		a := newAsk(1)
		r.Tell(errBug)
		r.Tell(a)
		d.expect(t, "a#3 failed")
		if a.answer() != string(ReceiverStopped) && a.answer() != string(NotRunning) {
			t.Errorf("the queued message: %s", a.answer())
		}
		r = Spawn(s, SpawnOptions{Name: "b", Restarts: -1}, d.build(nil))
		r.Tell(errBug)
		d.expect(t, "b#1 started", "b#1 failed")
	})
}

// A build function that panics uses up the restarts and ends the actor.
func TestBuildPanics(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		built := 0
		r := Spawn(s, SpawnOptions{Name: "a"}, func(Self) Logic { built++; panic("no logic") })
		a := newAsk(1)
		r.Tell(a)
		synctest.Wait()
		if built != 11 || a.answer() == "none" || a.answer() == "handled" {
			t.Errorf("built %d times, ask %s", built, a.answer())
		}
	})
}

// A parent receives ChildStopped once for each child, however the child ended, with the panic if that ended it.
func TestChildStopped(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		var d diary
		var child Reference
		stopper := func(self Self, msg any) {
			if msg == "bye" {
				self.Stop()
			}
		}
		r := Spawn(s, SpawnOptions{Name: "p"}, d.build(func(self Self, msg any) {
			switch msg {
			case "spawn":
				child = SpawnChild(self, SpawnOptions{Name: "c", Restarts: 1}, d.build(stopper))
			case "again":
				if r := SpawnChild(self, SpawnOptions{Name: "c"}, d.build(nil)); !r.IsZero() {
					t.Errorf("second child of that name: %v", r)
				}
			case "stop":
				self.StopChild(child)
				self.StopChild(child)
				self.StopChild(self.Reference()) // not a child
				self.StopChild(Reference{})
			}
		}))
		r.Tell("spawn")
		d.expect(t, "p#1 started", "p#1 spawn", "p/c#1 started")
		r.Tell("again")
		d.expect(t, "p#1 again")
		child.Tell(errBug)
		d.expect(t, "p/c#1 restarting", "p/c#2 started")
		child.Tell(errBug)
		d.expect(t, "p/c#2 failed", "p#1 p/c gone bug")
		r.Tell("spawn")
		d.expect(t, "p#1 spawn", "p/c#3 started")
		r.Tell("stop")
		d.expect(t, "p#1 stop", "p/c#3 stopped", "p#1 p/c gone <nil>")
		r.Tell("spawn")
		d.expect(t, "p#1 spawn", "p/c#4 started")
		child.Tell("bye")
		d.expect(t, "p/c#4 bye", "p/c#4 stopped", "p#1 p/c gone <nil>")
	})
}

// Children stop with their parent and before its next incarnation starts, which receives no ChildStopped for them.
func TestChildrenStopWithParent(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		var d diary
		family := d.build(func(self Self, msg any) {
			if msg == (Started{}) {
				SpawnChild(self, SpawnOptions{Name: "c"}, d.build(nil))
			}
		})
		r := Spawn(s, SpawnOptions{Name: "p"}, family)
		d.expect(t, "p#1 started", "p/c#1 started")
		r.Tell(errBug)
		d.expect(t, "p#1 restarting", "p/c#1 stopped", "p#2 started", "p/c#2 started")
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		d.expect(t, "p#2 shutting down", "p/c#2 shutting down")
	})
}

// A Logic that has panicked receives only Stopping, even if the message about a child's end is queued.
func TestOnlyStoppingAfterAPanic(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		var d diary
		g := make(gate)
		p := Spawn(s, SpawnOptions{Name: "p"}, d.build(func(self Self, msg any) {
			if msg == "spawn" {
				SpawnChild(self, SpawnOptions{Name: "c"}, d.build(func(self Self, _ any) { self.Stop() }))
				<-g
				panic("after the child's end")
			}
		}))
		p.Tell("spawn")
		d.expect(t, "p#1 started", "p#1 spawn", "p/c#1 started", "p/c#1 stopped")
		close(g)
		d.expect(t, "p#1 restarting", "p#2 started")
	})
}

// A Restart of a child that is already stopping, and waits for its own children, is dropped: protoactor would revive the
// child, and its parent would wait forever.
func TestRestartOfAStoppingActor(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		var d diary
		g := make(gate)
		hold := func(_ Self, msg any) {
			if m, ok := msg.(gate); ok {
				<-m
			}
		}
		p := Spawn(s, SpawnOptions{Name: "p"}, d.build(func(self Self, msg any) {
			if msg == (Started{}) {
				SpawnChild(self, SpawnOptions{Name: "c"}, d.build(func(self Self, msg any) {
					if msg == (Started{}) {
						SpawnChild(self, SpawnOptions{Name: "g"}, d.build(hold)).Tell(g)
					}
				}))
			}
		}))
		d.expect(t, "p#1 started", "p/c#1 started", "p/c/g#1 started")
		p.cell.stop("asked first")
		synctest.Wait() // c has received Stopping and waits for g
		c, _ := s.Lookup("p/c")
		restart(c)
		synctest.Wait()
		close(g)
		d.expect(t, "p#1 asked first", "p/c#1 asked first", "p/c/g#1 asked first")
		if len(s.Actors()) != 0 {
			t.Errorf("left: %+v", s.Actors())
		}
	})
}

// A panic in the handler of Stopping does not keep the actor alive, and its parent does not wait for it forever.
func TestStoppingPanics(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		bad := on(func(_ Self, msg any) {
			switch m := msg.(type) {
			case Stopping:
				panic("stubborn")
			case error:
				panic(m)
			case *ask:
				m.handled()
			}
		})
		r := Spawn(s, SpawnOptions{Name: "p"}, func(self Self) Logic {
			SpawnChild(self, SpawnOptions{Name: "c"}, bad)
			return bad(self)
		})
		a := newAsk(0)
		r.Tell(errBug)
		r.Tell(a)
		synctest.Wait()
		if a.answer() != "handled" {
			t.Errorf("after a restart: %s", a.answer())
		}
	})
}

// The name of a child that has stopped stays taken until its parent has received ChildStopped, which names that child.
func TestNameOfAStoppedChild(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		type spawn struct{ before gate }
		var children, gone []Reference
		parent := Spawn(s, SpawnOptions{Name: "a"}, on(func(self Self, msg any) {
			switch m := msg.(type) {
			case spawn:
				<-m.before
				children = append(children, SpawnChild(self, SpawnOptions{Name: "x"}, on(func(self Self, msg any) {
					if msg == any("stop") {
						self.Stop()
					}
				})))
			case ChildStopped:
				gone = append(gone, m.Child)
			}
		}))
		now, later := make(gate), make(gate)
		close(now)
		parent.Tell(spawn{now})
		synctest.Wait()
		parent.Tell(spawn{later})
		synctest.Wait() // the parent is busy
		children[0].Tell("stop")
		synctest.Wait() // the child has stopped, but its parent does not know it
		close(later)
		synctest.Wait()
		parent.Tell(spawn{now})
		synctest.Wait()
		if len(children) != 3 || !children[1].IsZero() || children[2].IsZero() || len(gone) != 1 || gone[0] != children[0] {
			t.Errorf("children %v, of which %v have stopped; the second must not exist, and the first must have stopped", children, gone)
		}
		if found, ok := s.Lookup("a/x"); !ok || found != children[2] {
			t.Errorf("Lookup() = %v, %v", found, ok)
		}
	})
}

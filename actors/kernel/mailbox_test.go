package kernel

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

type exit struct{}

func goexit() { runtime.Goexit() }

// told spawns a busy actor, sends it the messages, lets it continue and returns their ids in the order of handling.
func told(s *System, limit int, messages ...*classed) (order []int) {
	g := make(gate)
	r := Spawn(s, SpawnOptions{Name: "receiver", Mailbox: limit}, on(func(_ Self, msg any) {
		switch m := msg.(type) {
		case gate:
			<-m
		case *classed:
			m.handled()
			order = append(order, m.id)
		}
	}))
	r.Tell(g)
	synctest.Wait()
	for _, m := range messages {
		r.Tell(m)
	}
	close(g)
	synctest.Wait()
	return order
}

func TestClasses(t *testing.T) {
	m := newClassed
	var flood []*classed
	for i := range logLimit + 2 {
		flood = append(flood, m(i, LogLine, ""))
	}
	flood = append(flood, m(1000, Outcome, ""))
	var kept []int
	for i := 2; i < logLimit+2; i++ {
		kept = append(kept, i)
	}
	kept = append(kept, 1000)
	for _, c := range []struct {
		name     string
		limit    int
		messages []*classed
		want     []int
		lost     map[int]Reason
	}{
		{"in order", 9, []*classed{m(1, Work, ""), m(2, Outcome, ""), m(3, LogLine, ""), m(4, State, "a"), m(5, Work, "")}, []int{1, 2, 3, 4, 5}, nil},
		{"urgent messages come first", 9, []*classed{m(1, Work, ""), m(2, LogLine, ""), m(3, Urgent, ""), m(4, Urgent, "")}, []int{3, 4, 1, 2}, nil},
		{"work is refused, outcome and state are not", 2, []*classed{m(1, Work, ""), m(2, Work, ""), m(3, Work, ""), m(4, Outcome, ""), m(5, State, "a"), m(6, LogLine, ""), m(7, Urgent, "")},
			[]int{7, 1, 2, 4, 5, 6}, map[int]Reason{3: Overloaded}},
		{"state is replaced in its place", 9, []*classed{m(1, State, "a"), m(2, Work, ""), m(3, State, "b"), m(4, State, "a"), m(5, State, "a")},
			[]int{5, 2, 3}, map[int]Reason{1: Superseded, 4: Superseded}},
		{"the oldest log line is dropped", 9, flood, kept, map[int]Reason{0: Overloaded, 1: Overloaded}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *System) {
				if got := told(s, c.limit, c.messages...); !slices.Equal(got, c.want) {
					t.Errorf("handled %v, want %v", got, c.want)
				}
				for _, m := range c.messages {
					want := string(c.lost[m.id])
					if want == "" {
						want = "handled"
					}
					if m.answer() != want {
						t.Errorf("message %d: %s, want %s", m.id, m.answer(), want)
					}
				}
			})
		})
	}
}

type bare struct{ n int }

func (bare) Class() Class { return State }

// A State message without Key is keyed by its type. After it has been handled, the next one is queued again.
func TestStateByType(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		var got []int
		g := make(gate)
		r := Spawn(s, SpawnOptions{Name: "a"}, on(func(_ Self, msg any) {
			switch m := msg.(type) {
			case gate:
				<-m
			case bare:
				got = append(got, m.n)
			}
		}))
		r.Tell(g)
		r.Tell(bare{1})
		r.Tell(bare{2})
		close(g)
		synctest.Wait()
		r.Tell(bare{3})
		synctest.Wait()
		if !slices.Equal(got, []int{2, 3}) {
			t.Errorf("got %v, want [2 3]", got)
		}
	})
}

// A busy actor with room for 150 messages is sent 200. Then it stops, and is sent one more. Each message is answered exactly once.
func TestQueuedAtStop(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		g := make(gate)
		r := Spawn(s, SpawnOptions{Name: "a", Mailbox: 150}, on(func(self Self, msg any) {
			if m, ok := msg.(gate); ok {
				<-m
				self.Stop()
			}
		}))
		r.Tell(g)
		synctest.Wait()
		var asks []*ask
		for i := range 200 {
			asks = append(asks, newAsk(i))
			r.Tell(asks[i])
		}
		close(g)
		synctest.Wait()
		asks = append(asks, newAsk(200))
		r.Tell(asks[200])
		count := map[string]int{}
		for _, a := range asks {
			count[a.answer()]++
		}
		if got := fmt.Sprint(count); got != "map[gone:1 overloaded:50 stopped:150]" {
			t.Errorf("answers: %s", got)
		}
	})
}

func TestTellWait(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		var order []int
		g := make(gate)
		r := Spawn(s, SpawnOptions{Name: "a", Mailbox: 2}, on(func(_ Self, msg any) {
			switch m := msg.(type) {
			case gate:
				<-m
			case *classed:
				order = append(order, m.id)
			}
		}))
		r.Tell(g)
		synctest.Wait()
		var mu sync.Mutex
		results := make(map[int]error)
		wait := func(ctx context.Context, m *classed) {
			go func() {
				err := r.TellWait(ctx, m)
				mu.Lock()
				defer mu.Unlock()
				results[m.id] = err
			}()
			synctest.Wait()
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		wait(t.Context(), newClassed(1, Work, ""))
		wait(t.Context(), newClassed(2, Outcome, ""))
		wait(t.Context(), newClassed(3, Work, "")) // now the mailbox is full
		wait(ctx, newClassed(4, Work, ""))
		wait(t.Context(), newClassed(5, Outcome, ""))
		wait(t.Context(), newClassed(6, Urgent, "")) // does not wait
		wait(t.Context(), newClassed(7, LogLine, ""))
		if len(results) != 4 || s.Actors()[0].Waiting != 3 {
			t.Errorf("returned %v, waiting %d, want 4 returned and 3 waiting", results, s.Actors()[0].Waiting)
		}
		left := errors.New("left")
		cancel(left)
		synctest.Wait()
		wait(ctx, newClassed(8, Work, ""))
		refused := newClassed(9, Work, "")
		r.Tell(refused) // does not overtake the waiting ones
		close(g)
		synctest.Wait()
		if want := []int{6, 1, 2, 7, 3, 5}; !slices.Equal(order, want) { // 3 and 5 are accepted once there is room
			t.Errorf("order %v, want %v", order, want)
		}
		if refused.answer() != string(Overloaded) {
			t.Errorf("Tell while others wait: %s", refused.answer())
		}
		for id, err := range results {
			want := error(nil)
			if id == 4 || id == 8 {
				want = left
			}
			if err != want {
				t.Errorf("TellWait of %d = %v, want %v", id, err, want)
			}
		}
	})
}

// Goroutines in TellWait that send faster than the actor handles leave room for senders that cannot wait.
func TestTellWaitLeavesRoom(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		g := make(gate)
		r := Spawn(s, SpawnOptions{Name: "a", Mailbox: 16}, on(func(_ Self, msg any) {
			if m, ok := msg.(gate); ok {
				<-m
			}
		}))
		r.Tell(g)
		synctest.Wait()
		for range 100 {
			go func() { _ = r.TellWait(t.Context(), 1) }()
		}
		synctest.Wait()
		if info := s.Actors()[0]; info.Depth != 12 || info.Waiting != 88 {
			t.Errorf("%d queued and %d waiting, want 12 and 88", info.Depth, info.Waiting)
		}
		for i := range 5 {
			a := newAsk(i)
			r.Tell(a)
			if refused := a.answer() == string(Overloaded); refused != (i == 4) {
				t.Errorf("Tell %d while others wait: refused %v", i, refused)
			}
		}
		close(g)
		synctest.Wait()
	})
}

// The size of messages from TellWait is bounded too. A single message may be larger.
func TestTellWaitByBytes(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		g := make(gate)
		handled := 0
		r := Spawn(s, SpawnOptions{Name: "a"}, on(func(_ Self, msg any) {
			switch m := msg.(type) {
			case gate:
				<-m
			case heavy:
				handled++
			}
		}))
		r.Tell(g)
		synctest.Wait()
		for _, size := range []int{2 * sizeTotal, 1, sizeTotal / 2, sizeTotal / 2, sizeTotal / 2, 0} {
			go func() { _ = r.TellWait(t.Context(), heavy{newClassed(size, Outcome, ""), size}) }()
			synctest.Wait()
		}
		if info := s.Actors()[0]; info.Depth != 2 || info.Waiting != 4 {
			t.Errorf("%d queued and %d waiting; want the first message and the one without a size queued", info.Depth, info.Waiting)
		}
		close(g)
		synctest.Wait()
		if box := &r.cell.box; handled != 6 || box.waitedBytes != 0 {
			t.Errorf("%d handled, %d bytes counted", handled, box.waitedBytes)
		}
	})
}

func TestTellWaitOnStop(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		g := make(gate)
		r := Spawn(s, SpawnOptions{Name: "a", Mailbox: 1}, on(func(self Self, msg any) {
			if m, ok := msg.(gate); ok {
				<-m
				self.Stop()
			}
		}))
		r.Tell(g)
		synctest.Wait()
		r.Tell(1)
		a := newAsk(2)
		var err error
		go func() { err = r.TellWait(t.Context(), a) }()
		synctest.Wait()
		close(g)
		synctest.Wait()
		if err != ErrGone || a.answer() != "none" {
			t.Errorf("TellWait = %v and %s, want ErrGone and no Abandon", err, a.answer())
		}
		if err := r.TellWait(t.Context(), a); err != ErrGone {
			t.Errorf("TellWait to a stopped actor = %v", err)
		}
	})
}

// recorder takes the place of protoactor's dispatcher and its invoker. It runs each scheduled function at once.
type recorder struct {
	scheduled int
	got       []any
}

func (r *recorder) Schedule(fn func())          { r.scheduled++; fn() }
func (*recorder) Throughput() int               { return 1 }
func (r *recorder) InvokeSystemMessage(msg any) { r.got = append(r.got, msg) }
func (r *recorder) InvokeUserMessage(msg any)   { r.got = append(r.got, msg) }
func (*recorder) EscalateFailure(_, _ any)      {}

// A message sent to an actor while it is being spawned waits until Started is queued, and is handled after it.
func TestMessagesWhileSpawning(t *testing.T) {
	var r recorder
	var m mailbox
	m.init(&cell{}, 0, false)
	m.tell("user")
	m.RegisterHandlers(&r, &r)
	m.tell("user")
	m.PostSystemMessage("started")
	m.Start()
	m.PostUserMessage("later")
	if got := fmt.Sprint(r.got); got != "[started user user later]" || r.scheduled != 2 {
		t.Errorf("got %s in %d wakes", got, r.scheduled)
	}
}

// The ring behaves like a slice, and positions stay valid when it grows.
func TestRing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r ring
		var model []uint64
		next := uint64(0)
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				for range rapid.IntRange(1, 20).Draw(t, "n") {
					r.push(entry{order: next})
					model = append(model, next)
					next++
				}
			},
			"pop": func(t *rapid.T) {
				for range min(len(model), rapid.IntRange(1, 20).Draw(t, "n")) {
					if e := r.pop(); e.order != model[0] {
						t.Fatalf("pop = %d, want %d", e.order, model[0])
					}
					model = model[1:]
				}
			},
			"": func(t *rapid.T) {
				if r.len() != len(model) {
					t.Fatalf("len = %d, want %d", r.len(), len(model))
				}
				if len(model) > 0 && r.at(r.head).order != model[0] {
					t.Fatalf("first = %d, want %d", r.at(r.head).order, model[0])
				}
			},
		})
	})
}

// A buffer that grew in a burst is released once the ring is empty.
func TestRingShrinks(t *testing.T) {
	var r ring
	for range 10 * ringKeep {
		r.push(entry{})
	}
	for r.len() > 0 {
		r.pop()
	}
	if r.buffer != nil {
		t.Errorf("a buffer of %d entries was kept", len(r.buffer))
	}
	r.push(entry{order: 5})
	if e := r.pop(); e.order != 5 || len(r.buffer) != ringFirst {
		t.Errorf("after that: %+v, buffer %d", e, len(r.buffer))
	}
}

// Sending and handling a message allocates nothing. The test allocates its message before it measures.
func TestAllocations(t *testing.T) {
	s := New(Options{})
	r := Spawn(s, SpawnOptions{Name: "a"}, func(Self) Logic { return &pure{} })
	w := &work{make(chan int, 1)}
	got := testing.AllocsPerRun(2000, func() {
		r.Tell(w)
		<-w.reply
	})
	if got >= 1 {
		t.Errorf("Tell and handle: %v allocations, want 0", got)
	}
	timeout, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Stop(timeout); err != nil {
		t.Error(err)
	}
}

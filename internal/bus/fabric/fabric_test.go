package fabric

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/internal/bus"
)

// story runs a fabric in the time of a synctest bubble, one call at a time.
type story struct {
	*Fabric
	t     *testing.T
	rng   *rand.Rand
	trace strings.Builder

	mu     sync.Mutex
	events events
	count  int
}

type event struct {
	at    time.Time
	order int
	run   func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at.Before(e[j].at) || e[i].at.Equal(e[j].at) && e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// tell calls do in a new story.
func tell(t *testing.T, seed uint64, voters []string, do func(s *story)) (trace string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &story{t: t, rng: rand.New(rand.NewPCG(seed, 1))}
		s.Fabric = New(Options{After: s.after, Rand: rand.New(rand.NewPCG(seed, 2)), Voters: voters})
		do(s)
		for _, name := range []string{"a", "b", "c"} {
			s.Kill(name)
		}
		trace = s.trace.String()
	})
	return trace
}

func (s *story) after(d time.Duration, run func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	heap.Push(&s.events, event{time.Now().Add(d), s.count, run})
}

// run lets the time pass.
func (s *story) run(d time.Duration) {
	s.t.Helper()
	end := time.Now().Add(d)
	for {
		synctest.Wait()
		s.mu.Lock()
		if len(s.events) == 0 || s.events[0].at.After(end) {
			s.mu.Unlock()
			break
		}
		e := heap.Pop(&s.events).(event)
		s.mu.Unlock()
		time.Sleep(time.Until(e.at))
		e.run()
	}
	time.Sleep(time.Until(end))
	synctest.Wait()
}

// join starts a, b and c, and waits until they are connected.
func (s *story) join() (a, b, c *Node) {
	a, b, c = s.Join("a"), s.Join("b"), s.Join("c")
	for _, n := range []*Node{a, b, c} {
		s.listen(n, "beat")
		s.listen(n, "node."+n.name)
	}
	s.run(connectDelay)
	return a, b, c
}

// listen writes what a node receives to the trace, and answers questions.
func (s *story) listen(n *Node, subject string) {
	s.t.Helper()
	_, err := n.Subscribe(subject, func(m bus.Message) {
		fmt.Fprintf(&s.trace, "%s<%s ", n.name, m.Payload)
		m.Answer([]byte(n.name))
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// ask asks a node a question, and returns an error if the answer takes more than half a second.
func (s *story) ask(from *Node, to string) error {
	var err error
	s.outside(func() {
		ctx, cancel := context.WithTimeout(s.t.Context(), 500*time.Millisecond)
		defer cancel()
		_, err = from.Ask(ctx, "node."+to, []byte("?"))
	})
	return err
}

// outside calls do, which may block, while the story runs.
func (s *story) outside(do func()) {
	s.t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	for range 10000 {
		s.run(time.Millisecond)
		select {
		case <-done:
			return
		default:
		}
	}
	s.t.Fatal("blocked")
}

func TestMessages(t *testing.T) {
	tell(t, 1, nil, func(s *story) {
		a, _, c := s.join()
		if got := a.Status(); !slices.Equal(got.Nodes, []string{"b", "c"}) {
			t.Errorf("%+v", got)
		}
		for i := range 50 {
			a.Publish("beat", fmt.Append(nil, i))
		}
		s.run(time.Second)
		all := strings.Fields(s.trace.String())
		for _, name := range []string{"a", "b", "c"} {
			var want, got []string
			for i := range 50 {
				want = append(want, fmt.Sprintf("%s<%d", name, i))
			}
			for _, line := range all {
				if strings.HasPrefix(line, name) {
					got = append(got, line)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s received %v", name, got)
			}
		}
		if err := s.ask(a, "b"); err != nil {
			t.Error(err)
		}
		if err := s.ask(a, "d"); !errors.Is(err, bus.ErrNoListener) {
			t.Error(err)
		}
		s.Kill("b")
		if err := s.ask(a, "b"); !errors.Is(err, bus.ErrNoListener) {
			t.Error(err)
		}
		c.Close()
		c.Close()
		if err := s.ask(c, "a"); !errors.Is(err, bus.ErrClosed) {
			t.Error(err)
		}
		s.listen(s.Join("b"), "node.b")
		s.run(connectDelay + interestDelay)
		if err := s.ask(a, "b"); err != nil {
			t.Errorf("after b is back: %v", err)
		}
	})
}

// A short cut delays messages. A long one breaks the connection for both directions, until it is healed.
func TestCut(t *testing.T) {
	tell(t, 1, nil, func(s *story) {
		a, b, _ := s.join()
		s.Cut("a", "b")
		a.Publish("beat", []byte("1"))
		s.run(silenceMin / 2)
		if strings.Contains(s.trace.String(), "b<1") {
			t.Error("a message passed a cut")
		}
		s.Heal("a", "b")
		s.run(usualDelay)
		if !strings.Contains(s.trace.String(), "b<1") {
			t.Error("a message did not arrive after a short cut")
		}
		s.Cut("a", "b")
		s.run(usualDelay)
		a.Publish("beat", []byte("2"))
		if err := s.ask(a, "b"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("before the connection breaks: %v", err)
		}
		s.run(silenceMin + silenceMore)
		for _, n := range []*Node{a, b} {
			if err := s.ask(n, map[string]string{"a": "b", "b": "a"}[n.name]); !errors.Is(err, bus.ErrNoListener) {
				t.Errorf("after the connection broke, from %s: %v", n.name, err)
			}
		}
		s.Heal("a", "b")
		s.run(repairDelay)
		if strings.Contains(s.trace.String(), "b<2") {
			t.Error("a message survived a broken connection")
		}
		if err := s.ask(b, "a"); err != nil {
			t.Errorf("healed: %v", err)
		}
	})
}

// A node that stalls for a short time receives afterward what was sent to it. One that stalls for long is disconnected until it resumes.
func TestStall(t *testing.T) {
	tell(t, 1, nil, func(s *story) {
		a, _, _ := s.join()
		s.Stall("b")
		a.Publish("beat", []byte("1"))
		s.run(silenceMin / 2)
		s.Resume("b")
		s.run(usualDelay)
		if !strings.Contains(s.trace.String(), "b<1") {
			t.Error("a message did not arrive after a short stall")
		}
		s.Stall("b")
		s.run(silenceMin + silenceMore)
		if err := s.ask(a, "b"); !errors.Is(err, bus.ErrNoListener) {
			t.Errorf("stalled for long: %v", err)
		}
		s.Resume("b")
		s.run(repairDelay)
		if err := s.ask(a, "b"); err != nil {
			t.Errorf("resumed: %v", err)
		}
	})
}

// The same seed gives the same story, another one a different one.
func TestStoriesRepeat(t *testing.T) {
	play := func(seed uint64) string {
		return tell(t, seed, []string{"a", "b", "c"}, func(s *story) {
			a, b, c := s.join()
			s.SetFaults(Faults{Lost: 50, Reordered: 50, Slow: 100 * time.Millisecond, Forgotten: 100, Lag: time.Second})
			for i := range 200 {
				n := []*Node{a, b, c}[i%3]
				n.Publish("beat", fmt.Append(nil, i))
				switch s.rng.IntN(20) {
				case 0:
					s.Cut("a", "b")
				case 1:
					s.Heal("a", "b")
				case 2:
					s.Stall("c")
				case 3:
					s.Resume("c")
				}
				s.run(time.Duration(s.rng.IntN(100)) * time.Millisecond)
			}
		})
	}
	first := play(1)
	if again := play(1); again != first {
		t.Errorf("the second time:\n%s\nthe first time:\n%s", again, first)
	}
	if play(2) == first {
		t.Error("another seed gives the same story")
	}
	if !strings.Contains(first, "b<") || strings.Count(first, " ") > 590 {
		t.Errorf("%d messages arrived: %s", strings.Count(first, " "), first)
	}
}

func TestRecords(t *testing.T) {
	tell(t, 1, []string{"a", "b", "c"}, func(s *story) {
		a, b, _ := s.join()
		var told []string
		_, err := b.Records().Watch("run.*", func(r bus.Record) {
			told = append(told, fmt.Sprintf("%s=%s %v", r.Key, r.Value, r.Deleted))
		})
		if err != nil {
			t.Fatal(err)
		}
		put := func(n *Node, value string, revision uint64) (next uint64, err error) {
			s.outside(func() { next, err = n.Records().Put(s.t.Context(), "run.x", []byte(value), revision) })
			return next, err
		}
		first, err := put(a, "1", 0)
		if err != nil {
			t.Fatal(err) // put has waited for the first election
		}
		if _, err := put(b, "2", 0); !errors.Is(err, bus.ErrChanged) {
			t.Error(err)
		}
		s.run(2 * retryDelay)
		s.Kill(s.Leader())
		left := s.nodes[0]
		s.outside(func() {
			ctx, cancel := context.WithTimeout(s.t.Context(), time.Second)
			defer cancel()
			if _, err := left.Records().Get(ctx, "run.x"); !errors.Is(err, bus.ErrNoQuorum) {
				t.Errorf("during an election: %v", err)
			}
		})
		second, err := put(left, "2", first)
		if err != nil || second <= first {
			t.Errorf("after an election: %d, %v", second, err)
		}
		s.outside(func() {
			if err := left.Records().Delete(s.t.Context(), "run.x", second); err != nil {
				t.Error(err)
			}
		})
		s.run(time.Second)
		s.Kill(s.nodes[1].name)
		if _, err := put(s.nodes[0], "3", 0); !errors.Is(err, bus.ErrNoQuorum) {
			t.Errorf("one voter of three: %v", err)
		}
		if b.ended() {
			return
		}
		if want := "run.x=1 false, run.x=2 false, run.x= true"; strings.Join(told, ", ") != want {
			t.Errorf("the handler got %v, want %s", told, want)
		}
	})
}

// Whatever happens to the nodes and the voters, at most one node is certain of a lease.
func TestLeases(t *testing.T) {
	taken := 0
	for seed := range uint64(20) {
		tell(t, seed, []string{"a", "b", "c"}, func(s *story) { taken += leases(t, s) })
	}
	if taken < 50 {
		t.Errorf("the lease was taken %d times", taken)
	}
}

// ended reports whether the node was killed.
func (n *Node) ended() bool {
	select {
	case <-n.done:
		return true
	default:
		return false
	}
}

func leases(t *testing.T, s *story) (taken int) {
	s.join()
	s.SetFaults(Faults{Lost: 20, Slow: 200 * time.Millisecond, Forgotten: 100, Lag: 3 * time.Second})
	var last uint64
	held := map[string]*bus.Lease{}
	keep := func(n *Node) {
		leases := bus.NewLeases(n.Records(), time.Now)
		_, _ = n.Records().Watch("run.x", leases.Saw)
		for {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			var l *bus.Lease
			var err error
			s.mu.Lock()
			mine := held[n.name]
			s.mu.Unlock()
			if mine == nil {
				l, err = leases.Take(ctx, "run.x", n.name)
			} else {
				l, err = leases.Renew(ctx, mine)
			}
			cancel()
			s.mu.Lock()
			switch {
			case n.ended():
				delete(held, n.name)
				s.mu.Unlock()
				return
			case err == nil:
				if mine == nil {
					taken++
					if l.Token <= last {
						t.Errorf("token %d after %d", l.Token, last)
					}
					last = l.Token
				}
				held[n.name] = l
			case errors.Is(err, bus.ErrLeaseLost), mine != nil && !mine.Certain(time.Now()):
				delete(held, n.name)
			}
			s.mu.Unlock()
			time.Sleep(bus.LeaseRenewal)
		}
	}
	for _, n := range s.nodes {
		go keep(n)
	}
	for range 600 {
		name := []string{"a", "b", "c"}[s.rng.IntN(3)]
		other := []string{"a", "b", "c"}[s.rng.IntN(3)]
		switch s.rng.IntN(60) {
		case 0:
			s.Cut(name, other)
		case 1, 2, 3:
			s.Heal(name, other)
		case 4:
			s.Stall(name) // its goroutine goes on, unlike that of a stopped process
		case 5, 6, 7:
			s.Resume(name)
		case 8:
			s.StopVoters()
		case 9, 10:
			s.StartVoters()
		case 11:
			for _, other := range []string{"a", "b", "c"} { // it is alone for 20 s
				s.Cut(name, other)
				s.Cut(other, name)
				s.after(20*time.Second, func() {
					s.Heal(name, other)
					s.Heal(other, name)
				})
			}
		case 12:
			s.Kill(name)
			s.run(2 * time.Second)
			n := s.Join(name)
			go keep(n)
		}
		s.run(time.Duration(s.rng.IntN(1000)) * time.Millisecond)
		s.mu.Lock()
		certain := []string{}
		for name, l := range held {
			if l.Certain(time.Now()) {
				certain = append(certain, name)
			}
		}
		s.mu.Unlock()
		if len(certain) > 1 {
			t.Errorf("%v are certain of the lease", certain)
			break
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		s.Kill(name)
	}
	s.run(5 * time.Second)
	return taken
}

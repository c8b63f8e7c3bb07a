package kernel

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// stormy handles messages, panics, stops, spawns and stops children, and keeps some messages until its end.
type stormy struct{ pending []*ask }

func (p *stormy) Step(_ time.Time, msg any, out []Effect) []Effect {
	switch msg.(type) {
	case Stopping:
		for _, a := range p.pending {
			a.handled()
		}
		return out
	case GoPanicked, ChildStopped, Started:
		return out
	}
	a := asked(msg)
	switch {
	case a.id%37 == 0:
		panic("storm")
	case a.id%5 == 0:
		p.pending = append(p.pending, a)
	default:
		a.handled()
	}
	return append(out, Act(a.id))
}

func (*stormy) Act(self Self, act any) {
	id := act.(int)
	switch {
	case id%101 == 0:
		self.Stop()
	case id%31 == 0:
		child := SpawnChild(self, SpawnOptions{Name: strconv.Itoa(id)}, func(Self) Logic { return &stormy{} })
		child.Tell(newAsk(1))
		if id%2 == 0 {
			self.StopChild(child)
		}
	case id%29 == 0:
		self.Go(func(context.Context) any { panic("in Go") })
	}
}

func asked(msg any) *ask {
	if c, ok := msg.(*classed); ok {
		return &c.ask
	}
	return msg.(*ask)
}

// Actors are spawned, fail, stop and receive messages by name and by reference, all at once: every message is answered
// exactly once. Sending to a name while its actor was being spawned used to make protoactor's own mailbox panic.
func TestStorm(t *testing.T) {
	const names, senders, each = 8, 6, 3000
	s := New(Options{})
	var mu sync.Mutex
	var asks []*ask
	var group sync.WaitGroup
	for sender := range senders {
		group.Go(func() {
			random := rand.New(rand.NewPCG(uint64(sender), 1))
			var mine []*ask
			for i := range each {
				id := random.IntN(1 << 20)
				name := "n" + strconv.Itoa(id%names)
				r, ok := s.Lookup(name)
				if !ok {
					Spawn(s, SpawnOptions{Name: name, Mailbox: 64, Restarts: 3}, func(Self) Logic { return &stormy{} })
					r, _ = s.Lookup(name)
				}
				m := newClassed(id, Class(random.IntN(5)), strconv.Itoa(i%3))
				mine = append(mine, &m.ask)
				if i%7 != 0 {
					r.Tell(m)
					continue
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(random.IntN(200))*time.Microsecond)
				if r.TellWait(ctx, m) != nil {
					m.said <- "kept"
				}
				cancel()
			}
			mu.Lock()
			defer mu.Unlock()
			asks = append(asks, mine...)
		})
	}
	group.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, a := range asks {
		count[a.answer()]++
	}
	if count["none"]+count["twice"] > 0 || count["handled"] == 0 || len(asks) != senders*each {
		t.Errorf("answers: %v", count)
	}
	if left := s.Actors(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// model is a naive mailbox.
type model struct {
	limit             int
	urgent, user      []*classed // user holds log lines too, in order of arrival
	refused, replaced int
}

func (m *model) count(match func(*classed) bool) (n int, first int) {
	first = -1
	for i, c := range m.user {
		if match(c) {
			if first < 0 {
				first = i
			}
			n++
		}
	}
	return n, first
}

func (m *model) put(c *classed) {
	logs, oldest := m.count(func(q *classed) bool { return q.class == LogLine })
	switch c.class {
	case Urgent:
		m.urgent = append(m.urgent, c)
		return
	case LogLine:
		if logs == logLimit {
			m.user = append(m.user[:oldest], m.user[oldest+1:]...)
			m.refused++
		}
	case State:
		if _, at := m.count(func(q *classed) bool { return q.class == State && q.key == c.key }); at >= 0 {
			m.user[at] = c
			m.replaced++
			return
		}
	case Step:
		newest := -1
		n, _ := m.count(func(q *classed) bool { return q.class == Step && q.key == c.key })
		for i, q := range m.user {
			if q.class == Step && q.key == c.key {
				newest = i
			}
		}
		if n >= stepLimit {
			m.user[newest] = c
			m.replaced++
			return
		}
	case Work:
		replaceable, _ := m.count(func(q *classed) bool { return q.class == State || q.class == Step })
		if len(m.user)-logs-replaceable >= m.limit {
			m.refused++
			return
		}
	}
	m.user = append(m.user, c)
}

func (m *model) take() (c *classed) {
	lane := &m.user
	if len(m.urgent) > 0 {
		lane = &m.urgent
	}
	c, *lane = (*lane)[0], (*lane)[1:]
	return c
}

// The mailbox behaves like the model under random operations.
func TestMailboxModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		box, naive := &mailbox{limit: limit, started: true}, &model{limit: limit}
		refused, replaced, id := 0, 0, 0
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				class := Class(rapid.IntRange(0, 5).Draw(t, "class"))
				key := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key")
				if class == Step {
					key += " step"
				}
				for range rapid.SampledFrom([]int{1, 3, logLimit + 1}).Draw(t, "times") {
					id++
					c := newClassed(id, class, key)
					naive.put(c)
					box.mu.Lock()
					lost, why := box.put(0, entry{msg: c, class: class}, c.Key())
					box.mu.Unlock()
					if lost != nil && why == Superseded {
						replaced++
					} else if lost != nil {
						refused++
					}
				}
			},
			"take": func(t *rapid.T) {
				for range rapid.IntRange(1, 30).Draw(t, "times") {
					e, what := box.next()
					if len(naive.urgent)+len(naive.user) == 0 {
						if what != nothing {
							t.Fatalf("took %v from an empty mailbox", e.msg)
						}
						return
					}
					if want := naive.take(); e.msg != want {
						t.Fatalf("took %+v, want %+v", e.msg, want)
					}
				}
			},
			"": func(t *rapid.T) {
				got := fmt.Sprint(box.UserMessageCount(), refused, replaced)
				if want := fmt.Sprint(len(naive.urgent)+len(naive.user), naive.refused, naive.replaced); got != want {
					t.Fatalf("queued, refused, replaced: %s, want %s", got, want)
				}
			},
		})
	})
}

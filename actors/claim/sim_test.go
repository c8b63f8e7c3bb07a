package claim

import (
	"container/heap"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

var epoch = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

var errNoQuorum = errors.New("no quorum")

// story is a simulated cluster: nodes with Claims, a store that loses answers and stands still, and an authorization server that ends
// the login if a refresh token is used twice.
type story struct {
	t      *testing.T
	rng    *rand.Rand
	calm   bool // there are no more faults
	rest   bool // no node wants to renew
	now    time.Time
	queue  events
	order  int
	nodes  []*simNode
	stored Stored // content of the store
	down   bool   // the store has no quorum
	tags   int

	used    map[int]*simNode // by the number of the refresh token: who has used it first
	excused map[int]bool     // the first user of the token has died, or has lost the answer
	issued  int              // the newest refresh token
	removed []int            // the values that a Replace has removed
	ended   bool             // a refresh token was used twice
	renewed int
}

// simNode is a node. A node that is killed gets a new life; messages to an older life are dropped.
type simNode struct {
	name   string
	life   int
	dead   bool // it was killed and has not been started again
	c      *Claims
	value  json.RawMessage // the copy in its state file
	frozen time.Time       // it handles no event before
	using  int             // the refresh token whose answer it waits for; 0 = none
	stuck  int             // of a value that it has obtained and not written; 0 = none
}

type event struct {
	at    time.Time
	order int
	do    func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at.Before(e[j].at) || e[i].at.Equal(e[j].at) && e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any     { old := *e; x := old[len(old)-1]; *e = old[:len(old)-1]; return x }

func (s *story) after(d time.Duration, do func()) {
	s.order++
	heap.Push(&s.queue, event{s.now.Add(d), s.order, do})
}

// to runs do on a node as soon as it is not frozen, unless it was killed.
func (s *story) to(n *simNode, d time.Duration, do func()) {
	life := n.life
	s.after(d, func() {
		if n.dead || n.life != life {
			return
		}
		if s.now.Before(n.frozen) {
			s.to(n, n.frozen.Sub(s.now), do)
			return
		}
		do()
	})
}

func (s *story) upTo(d time.Duration) time.Duration { return time.Duration(s.rng.Int64N(int64(d) + 1)) }

func (s *story) run(until time.Time) {
	for len(s.queue) > 0 && !s.queue[0].at.After(until) {
		e := heap.Pop(&s.queue).(event)
		s.now = e.at
		e.do()
	}
	s.now = until
}

func valueOf(number int) json.RawMessage { return json.RawMessage(fmt.Sprint(number)) }

func numberOf(v json.RawMessage) (number int) {
	_, _ = fmt.Sscan(string(v), &number)
	return number
}

// start starts a node with its copy of the value.
func (s *story) start(n *simNode) {
	n.life++
	n.dead, n.using, n.stuck = false, 0, 0
	n.c = New(func() string { s.tags++; return fmt.Sprintf("%s.%d", n.name, s.tags) })
	s.perform(n, n.c.Open(s.now, n.value, nil))
	s.wantSoon(n)
}

// wantSoon makes the node renew its value again and again.
func (s *story) wantSoon(n *simNode) {
	s.to(n, s.upTo(2*time.Minute), func() {
		if s.rest {
			return
		}
		s.perform(n, n.c.Want(s.now, nil))
		s.wantSoon(n)
	})
}

// kill ends a node, and starts it again.
func (s *story) kill(n *simNode) {
	if n.dead {
		return
	}
	n.life++
	n.dead = true
	for _, token := range []int{n.using, n.stuck} {
		s.excused[token] = true
	}
	n.frozen = time.Time{}
	s.after(s.upTo(2*time.Minute), func() { s.start(n) })
}

func (s *story) perform(n *simNode, out []any) {
	for _, o := range out {
		switch o := o.(type) {
		case Get:
			s.get(n, o)
		case Put:
			s.put(n, o, s.rng.IntN(2) == 0)
		case Wake:
			s.to(n, o.After, func() { s.perform(n, n.c.Step(s.now, Woken{o.Timer}, nil)) })
		case Changed:
			n.value = o.Value
		case Overtaken:
			n.stuck = 0
		case Claimed:
			s.use(n, o)
		case Saved:
			n.stuck = 0
			if o.Previous != nil {
				s.removed = append(s.removed, numberOf(o.Previous))
			}
		}
	}
}

// get reads the record; without quorum the answer is an error after 10 s.
func (s *story) get(n *simNode, g Get) {
	began := s.now
	var attempt func()
	attempt = func() {
		switch {
		case s.now.Sub(began) >= 10*time.Second:
			s.perform(n, n.c.Step(s.now, Got{g.Number, Stored{}, errNoQuorum}, nil))
		case s.down:
			s.to(n, time.Second, attempt)
		default:
			found := s.stored
			s.to(n, s.upTo(10*time.Millisecond), func() { s.perform(n, n.c.Step(s.now, Got{g.Number, found, nil}, nil)) })
		}
	}
	s.to(n, s.upTo(10*time.Millisecond), attempt)
}

// put writes the record. The store may do so although the answer is an error: because the answer is lost, or because it is late.
func (s *story) put(n *simNode, p Put, late bool) {
	began, done := s.now, false
	lost := s.rng.IntN(10) == 0 && !s.calm
	answer := func(d time.Duration, revision uint64, err error) {
		done = true
		s.to(n, d, func() { s.perform(n, n.c.Step(s.now, Written{p.Number, revision, err}, nil)) })
	}
	var attempt func()
	attempt = func() {
		switch {
		case s.now.Sub(began) >= 10*time.Second && !done:
			answer(0, 0, errNoQuorum)
			if late {
				s.after(s.upTo(20*time.Second), attempt)
			}
		case s.down:
			if !done || late {
				s.after(time.Second, attempt)
			}
		case s.stored.Revision != p.Revision:
			if !done {
				answer(s.upTo(10*time.Millisecond), 0, ErrChanged)
			}
		default:
			s.stored = Stored{Record: p.Record, Revision: s.stored.Revision + 1}
			if !done {
				if lost {
					answer(10*time.Second-s.now.Sub(began), 0, errNoQuorum)
				} else {
					answer(s.upTo(10*time.Millisecond), s.stored.Revision, nil)
				}
			}
			s.tell()
		}
	}
	s.after(s.upTo(10*time.Millisecond), attempt)
}

// tell reports the record to the watches.
func (s *story) tell() {
	for _, n := range s.nodes {
		delay := s.upTo(20 * time.Millisecond)
		if s.rng.IntN(20) == 0 && !s.calm {
			delay = s.upTo(17 * time.Second)
		}
		seen := s.stored
		s.to(n, delay, func() { s.perform(n, n.c.Step(s.now, Seen{seen}, nil)) })
	}
}

// use asks the authorization server for the next value.
func (s *story) use(n *simNode, o Claimed) {
	token := numberOf(o.Value)
	s.to(n, s.upTo(time.Millisecond), func() {
		if !s.now.Before(o.Until) {
			s.perform(n, n.c.GiveUp(s.now, "too late", nil))
			return
		}
		if first := s.used[token]; first != nil {
			if !s.excused[token] && !s.ended {
				s.t.Errorf("%v: node %s uses token %d again, which node %s has used", s.now.Sub(epoch), n.name, token, first.name)
			}
			s.ended = true
			s.perform(n, n.c.GiveUp(s.now, "invalid_grant", nil))
			return
		}
		if s.rng.IntN(8) == 0 { // refused, without using the token
			s.perform(n, n.c.GiveUp(s.now, "try later", nil))
			return
		}
		s.used[token], n.using = n, token
		s.issued++
		next := s.issued
		delay := s.upTo(time.Second)
		if s.rng.IntN(4) == 0 {
			delay = s.upTo(14 * time.Second)
		}
		s.to(n, min(delay, o.Until.Sub(s.now)-1), func() {
			n.using = 0
			if !s.now.Before(o.Until) && s.rng.IntN(2) == 0 { // the node was frozen, and its request has timed out
				s.excused[token] = true
				s.perform(n, n.c.GiveUp(s.now, "timeout", nil))
				return
			}
			n.stuck = token
			out, held := n.c.Done(s.now, valueOf(next), nil)
			if !held { // the login was replaced
				n.stuck = 0
				return
			}
			n.value = valueOf(next)
			s.renewed++
			s.perform(n, out)
		})
	})
}

// newStory returns a story of three nodes, which have the same copy of a value.
func newStory(t *testing.T, seed uint64) *story {
	s := &story{t: t, rng: rand.New(rand.NewPCG(seed, 1)), now: epoch, used: map[int]*simNode{}, excused: map[int]bool{}, issued: 1}
	for i := range 3 {
		n := &simNode{name: string(rune('a' + i)), value: valueOf(1), c: New(func() string { return "" })}
		s.nodes = append(s.nodes, n)
	}
	for _, n := range s.nodes {
		s.start(n)
	}
	return s
}

// fault lets something fail.
func (s *story) fault() {
	if s.calm {
		return
	}
	n := s.nodes[s.rng.IntN(len(s.nodes))]
	switch s.rng.IntN(4) {
	case 0:
		s.kill(n)
	case 1:
		n.frozen = s.now.Add(s.upTo(8 * time.Second))
	case 2:
		s.down = true
		s.after(s.upTo(3*time.Minute), func() { s.down = false })
	case 3: // what is frozen may be the node that holds the claim
		for _, n := range s.nodes {
			if n.using != 0 || n.stuck != 0 {
				n.frozen = s.now.Add(s.upTo(8 * time.Second))
			}
		}
	}
	s.after(s.upTo(3*time.Minute), s.fault)
}

// No refresh token is used twice unless its first user has died or lost the answer, and all nodes end with the newest login.
func TestNoTokenIsUsedTwice(t *testing.T) {
	renewed, ended := 0, 0
	seeds := uint64(100)
	if testing.Short() {
		seeds = 50
	}
	for seed := range seeds {
		s := newStory(t, seed)
		s.after(s.upTo(time.Minute), s.fault)
		s.run(epoch.Add(time.Hour))
		s.calm, s.down = true, false
		for _, n := range s.nodes {
			n.frozen = time.Time{}
		}
		s.run(s.now.Add(10 * time.Minute))
		renewed += s.renewed
		if s.ended {
			ended++
		} else {
			s.checkRest()
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d stories, %d renewals, %d logins lost with the node that renewed them", seeds, renewed, ended)
	if renewed < int(seeds)*20 {
		t.Errorf("only %d renewals", renewed)
	}
}

// checkRest lets the renewals end, and compares the values of the nodes with the newest one.
func (s *story) checkRest() {
	s.rest = true
	s.run(s.now.Add(2 * time.Minute))
	for _, n := range s.nodes {
		if got := numberOf(n.value); got != s.issued {
			s.t.Errorf("node %s has token %d, want %d; the record has %s", n.name, got, s.issued, s.stored.Value)
		}
	}
}

// Of several nodes that end a login at the same time, exactly one learns what it has ended, although answers are lost and another node
// may hold the claim. Afterwards no node has a value, and a new one reaches all of them.
func TestLoginEndsOnce(t *testing.T) {
	for seed := range uint64(60) {
		s := newStory(t, seed)
		s.run(epoch.Add(s.upTo(10 * time.Minute)))
		for _, n := range s.nodes {
			s.to(n, s.upTo(30*time.Millisecond), func() { n.value = nil; s.perform(n, n.c.Replace(s.now, nil, nil)) })
		}
		s.run(s.now.Add(2 * time.Minute))
		for _, n := range s.nodes {
			if n.value != nil {
				t.Errorf("seed %d: node %s still has %s", seed, n.name, n.value)
			}
		}
		if s.stored.Value != nil || s.stored.Ended == 0 || len(s.removed) != 1 {
			t.Errorf("seed %d: the record has %s, ended at %d; removed: %v", seed, s.stored.Value, s.stored.Ended, s.removed)
		}
		s.issued++
		last := s.nodes[2]
		last.value = valueOf(s.issued)
		s.perform(last, last.c.Replace(s.now, last.value, nil))
		s.calm = true
		s.run(s.now.Add(30 * time.Minute))
		s.checkRest()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

package membership

import (
	"container/heap"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/protocol"
)

// fabric runs the steps of several nodes in simulated time. The same seed gives the same run.
type fabric struct {
	t      testing.TB
	rng    *rand.Rand
	now    time.Time
	nodes  []*node
	events events
	order  int
	minted int // incarnations

	applyTime time.Duration                         // until revoked keys are applied
	catalogs  func(*node, [protocol.ItemKinds]bool) // called with a node that hears of changed catalogs; nil = not called

	// Faults of the network.
	lost, doubled, old int                       // messages per thousand; old ones arrive once more, seconds later
	slow               time.Duration             // longest delay of a message
	cut                func(from, to *node) bool // messages that never arrive
}

// node is a process.
type node struct {
	name    string
	state   *state
	served  string // incarnation whose queries it receives
	skew    time.Duration
	dead    bool
	stalled time.Time // it handles nothing until then
	waiting []any     // messages that it has not handled
	view    *cluster.View
	holders map[string]bool // revoked
	bank    *bank           // request rates; nil = none
	logged  []string
	ended   []cluster.EndedSession

	catalogs int             // number of the parts of catalogs that it has
	verdict  map[string]bool // incarnations that its step has given up or heard to be given up
}

type event struct {
	at    time.Time
	order int
	to    *node
	msg   any
	run   func() // in place of msg
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

func newFabric(t testing.TB, seed uint64) *fabric {
	f := &fabric{t: t, rng: rand.New(rand.NewPCG(seed, 1)), now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	f.applyTime = time.Millisecond
	f.calm()
	return f
}

// calm ends all faults of the network.
func (f *fabric) calm() {
	f.lost, f.doubled, f.old, f.slow, f.cut = 0, 0, 0, 3*time.Millisecond, func(_, _ *node) bool { return false }
}

func (f *fabric) incarnation() string {
	f.minted++
	return fmt.Sprintf("aaa%c%c%c%c%c", 'a'+f.rng.IntN(26), 'a'+f.rng.IntN(26), 'a'+f.minted/676%26, 'a'+f.minted/26%26, 'a'+f.minted%26)
}

// start starts a process. Its clock is ahead of the simulated time by skew.
func (f *fabric) start(name string, skew time.Duration) *node {
	n := &node{name: name, skew: skew, verdict: map[string]bool{}}
	o := &Options{Cluster: "prod", Node: name, Address: name + ":8731", Version: "1", Incarnation: f.incarnation(), Revoked: func(map[string]bool) {}}
	n.state = newState(o)
	f.nodes = append(f.nodes, n)
	f.step(n, kernel.Started{})
	f.step(n, message.JoinCluster{})
	return n
}

// after schedules a message to a node.
func (f *fabric) after(d time.Duration, to *node, msg any) {
	f.order++
	heap.Push(&f.events, event{f.now.Add(d), f.order, to, msg, nil})
}

func (f *fabric) call(d time.Duration, run func()) {
	f.order++
	heap.Push(&f.events, event{at: f.now.Add(d), order: f.order, run: run})
}

// run runs for the duration d.
func (f *fabric) run(d time.Duration) {
	end := f.now.Add(d)
	for len(f.events) > 0 && !f.events[0].at.After(end) {
		e := heap.Pop(&f.events).(event)
		f.now = e.at
		switch {
		case e.run != nil:
			e.run()
		case e.to.dead:
		default:
			f.deliver(e.to, e.msg)
		}
	}
	f.now = end
}

// deliver lets a node handle a message, unless it is stalled.
func (f *fabric) deliver(n *node, msg any) {
	n.waiting = append(n.waiting, msg)
	for len(n.waiting) > 0 && !n.dead && !f.now.Before(n.stalled) {
		next := n.waiting[0]
		n.waiting = n.waiting[1:]
		f.step(n, next)
	}
}

// stall stops a node for the duration d.
func (f *fabric) stall(n *node, d time.Duration) {
	n.stalled = f.now.Add(d)
	f.call(d, func() { f.deliver(n, nil) })
}

// step lets a node handle a message, and performs the effects.
func (f *fabric) step(n *node, msg any) {
	for queue := []any{msg}; len(queue) > 0; queue = queue[1:] {
		for _, e := range n.state.step(f.now.Add(n.skew), queue[0], nil) {
			if next := f.perform(n, e.Act); next != nil {
				queue = append(queue, next)
			}
		}
	}
	f.check(n)
}

// showTime is how long a gateway needs to show its clients the catalogs of another node.
const showTime = 7 * time.Millisecond

// perform performs an effect. It returns a message that the node handles before all others, or nil.
func (f *fabric) perform(n *node, act any) any {
	switch a := act.(type) {
	case kernel.Wake:
		f.after(a.After, n, a.Msg)
	case kernel.Logged:
		n.logged = append(n.logged, a.Text)
	case publish:
		for _, to := range f.nodes {
			f.send(n, to, message.Heard{Subject: a.subject, Payload: a.payload})
		}
	case serve:
		n.served = a.incarnation
	case collect:
		if n.bank != nil {
			return collected{n.bank.TakeSpent(a.most)}
		}
		return collected{}
	case charge:
		n.bank.Charge(a.now, a.spent)
	case renew:
		return renewed{f.incarnation()}
	case probe:
		f.ask(n, a.incarnation, a.question, func(_ []byte, err error) any { return probed{a.incarnation, errors.Is(err, ErrNoNode)} })
	case fetchEnded:
		f.ask(n, a.incarnation, a.question, func(answer []byte, err error) any { return fetchedEnded{a.incarnation, a.number, answer, err} })
	case answerEnded:
		page, next := []cluster.EndedSession(nil), ""
		from, _ := strconv.Atoi(a.after)
		for i := from; i < len(n.ended); i++ {
			if page = append(page, n.ended[i]); len(page) == 2 && i+1 < len(n.ended) {
				next = strconv.Itoa(i + 1)
				break
			}
		}
		answer := a.answer
		answer.Ended, answer.Next = page, next
		a.reply(answer.Encode())
	case fetchCatalog:
		f.ask(n, a.incarnation, a.question, func(answer []byte, err error) any { return fetchedCatalog{a.incarnation, answer, err} })
	case answerCatalog:
		answer := a.answer
		if at, _ := strconv.Atoi(a.after); at < n.catalogs {
			answer.Catalog, answer.Next = &cluster.CatalogPart{Server: "s", Offset: at, Size: n.catalogs, Data: []byte("x")}, strconv.Itoa(at+1)
		}
		a.reply(answer.Encode())
	case showCatalogs:
		f.after(showTime, n, catalogsShown{})
	case heardCatalog:
		n.catalogs++
	case ended:
		n.ended = append(n.ended, a.list...)
	case fetch:
		f.ask(n, a.incarnation, a.question, func(answer []byte, err error) any { return fetched{a.incarnation, answer, err} })
	case answer:
		a.reply(a.payload)
	case catalogsChanged:
		if f.catalogs != nil {
			f.catalogs(n, a.kinds)
		}
	case setView:
		n.view = a.view
	case revoke:
		n.holders = a.holders
		f.after(f.applyTime, n, applied{})
	}
	return nil
}

func (f *fabric) chance(perThousand int) bool {
	return perThousand > 0 && f.rng.IntN(1000) < perThousand
}

func (f *fabric) delay() time.Duration { return time.Duration(1 + f.rng.Int64N(int64(f.slow))) }

// send delivers a message, unless the network loses it. Sometimes the message arrives twice or late.
func (f *fabric) send(from, to *node, msg any) {
	if from != to && (f.cut(from, to) || f.chance(f.lost)) {
		return
	}
	f.after(f.delay(), to, msg)
	if f.chance(f.doubled) {
		f.after(f.delay(), to, msg)
	}
	if f.chance(f.old) {
		f.after(time.Duration(f.rng.IntN(5000))*time.Millisecond, to, msg)
	}
}

// ask delivers a question to the process that serves the incarnation. The answer arrives as the message that result returns.
func (f *fabric) ask(from *node, incarnation string, question []byte, result func([]byte, error) any) {
	i := slices.IndexFunc(f.nodes, func(n *node) bool { return !n.dead && n.served == incarnation && !f.cut(from, n) })
	if i < 0 {
		f.after(f.delay(), from, result(nil, ErrNoNode))
		return
	}
	to, answered := f.nodes[i], false
	f.call(queryTime, func() {
		if !answered {
			f.after(0, from, result(nil, errors.New("no answer in time")))
		}
		answered = true
	})
	f.send(from, to, message.NodeQuery{Payload: question, Reply: func(payload []byte) {
		if !answered && !f.cut(to, from) && !f.chance(f.lost) {
			answered = true
			f.after(f.delay(), from, result(payload, nil))
		}
	}})
}

// kill ends a process without notice. stop lets it send its last beat.
func (f *fabric) kill(n *node) {
	n.dead = true
	f.nodes = slices.DeleteFunc(f.nodes, func(o *node) bool { return o == n })
}

func (f *fabric) stop(n *node) {
	f.step(n, kernel.Stopping{})
	f.kill(n)
}

// check checks what must hold after every step.
func (f *fabric) check(n *node) {
	f.t.Helper()
	s := n.state
	for incarnation := range s.verdicts {
		n.verdict[incarnation] = true
	}
	if s.own.condemned {
		n.verdict[s.own.incarnation] = true
	}
	for incarnation := range n.verdict {
		if n.view != nil && n.view.Member(incarnation) != nil {
			f.t.Errorf("%s: %s is a member after its verdict", n.name, incarnation)
		}
	}
	if len(s.peers) > maxPeers || len(s.verdicts) > maxVerdicts || len(s.outsiders) > maxOutsiders || len(s.logs) > maxLogs ||
		len(s.revoked.entries) > maxRevoked || len(s.own.former) > cluster.MaxFormer {
		f.t.Errorf("%s: a table is too large", n.name)
	}
}

// checkRest checks that all nodes agree, and that each session has one home.
func (f *fabric) checkRest(when string) {
	f.t.Helper()
	first := f.nodes[0]
	for _, n := range f.nodes {
		view := *n.view
		view.Self, view.Former = first.view.Self, first.view.Former
		if !view.Equal(first.view) {
			f.t.Errorf("%s: %s sees %s, %s sees %s", when, n.name, describe(n.view), first.name, describe(first.view))
		}
		if len(n.view.Members) != len(f.nodes) || n.view.Member(n.view.Self) == nil || n.view.Self != n.state.own.incarnation {
			f.t.Errorf("%s: of %d nodes, %s (%s) sees %s", when, len(f.nodes), n.name, n.state.own.incarnation, describe(n.view))
		}
		if !n.view.Ready() {
			f.t.Errorf("%s: %s is not ready", when, n.name)
		}
		if n.state.revoked.digest != first.state.revoked.digest || !equalSets(n.holders, first.holders) {
			f.t.Errorf("%s: revoked at %s: %v, at %s: %v", when, n.name, n.holders, first.name, first.holders)
		}
	}
	for i := range 20 {
		id, homes := fmt.Sprint("session ", i), 0
		for _, n := range f.nodes {
			if m := n.view.Home(id); m != nil && m.Incarnation == n.view.Self {
				homes++
			}
		}
		if homes != 1 {
			f.t.Errorf("%s: %d nodes take themselves for the home of a session, want 1", when, homes)
		}
	}
}

func equalSets(a, b map[string]bool) bool {
	if len(a) != len(b) {
		return false
	}
	for k := range a {
		if !b[k] {
			return false
		}
	}
	return true
}

func describe(v *cluster.View) (text string) {
	for _, m := range v.Members {
		text += fmt.Sprintf("%s/%s(joining %v, draining %v, former %v) ", m.Node, m.Incarnation, m.Joining, m.Draining, m.Former)
	}
	return text
}

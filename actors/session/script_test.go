package session

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/clientcalls"
	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// script feeds random messages to step and records what is needed to check the session's invariants.
type script struct {
	t   *testing.T
	s   *state
	now time.Time
	rng *rand.Rand
	log []string // what was sent and done, for failure messages

	exchanges []*downstream.Exchange
	ended     map[*downstream.Exchange]int // how often each was answered
	lastID    int

	running    []uint64                       // calls at a pool
	over       map[uint64]bool                // calls that their pool has ended or was told to cancel
	subscribes []uint64                       // waiting at a pool
	refreshes  []uint64                       // waiting at a pool
	asks       []message.ReserveSubscriptions // waiting at the gateway
	levels     []uint64                       // waiting at the gateway, of SetSessionLevel
	holds      int                            // subscriptions that the gateway has granted
	questions  []string                       // ids of requests that the client has received
	answered   map[uint64]bool                // by the backend's number of a server request
	lastKey    uint64                         // of a server request
	timers     map[any]time.Time              // when each pending timer fires
	streams    []*downstream.EventStream
	queue      []any // messages that the session has sent to itself
	reads      bool  // its streams take everything that is pushed

	snapshot *catalog.Snapshot
	life     uint64
	left     bool
}

var scriptVersions = []string{protocol.Version20251125, protocol.Version20251125, protocol.Version20250618, protocol.Version20241105}

// newScript returns a session with a new client, over a random transport.
func newScript(t *testing.T, seed uint64) *script {
	t.Helper()
	r := &script{t: t, now: time.Unix(1000, 0), rng: rand.New(rand.NewPCG(seed, 4)), ended: map[*downstream.Exchange]int{},
		over: map[uint64]bool{}, answered: map[uint64]bool{}, timers: map[any]time.Time{}}
	limits := config.Default().Limits
	limits.MaxInFlightPerClient, limits.ParkedPerClient = 6, 3
	o := Options{ID: "1asession", Node: "n", Transport: []string{"http", "sse", "stdio"}[seed%3], Limits: limits, Expect: r.rng.IntN(2)}
	if r.rng.IntN(4) == 0 {
		o.Opened.View.Server = "one"
	}
	if r.rng.IntN(2) == 0 {
		o.Opened.Who = key("alice", nil)
	}
	r.s = newState(o, kernel.Reference{})
	r.step(kernel.Started{})
	if o.Transport == "sse" {
		r.openStream()
	}
	hello := func() {
		r.send(`"id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{"elicitation":{},"roots":{}},"clientInfo":{"name":"c","version":"1"}}`,
			scriptVersions[r.rng.IntN(len(scriptVersions))])
	}
	if r.rng.IntN(2) == 0 {
		r.publish()
		hello()
	} else {
		hello()
		r.publish()
	}
	return r
}

// sources returns one or two servers in random states. The server one has tasks, and lists that change without
// notification.
func (r *script) sources() []catalog.Source {
	r.life += uint64(r.rng.IntN(2))
	rules := config.DefaultServer()
	rules.Timeout, rules.MaxTimeout = time.Minute, time.Hour
	one := catalog.Source{Server: &catalog.Server{Name: "one", Rules: rules, Settled: true, Life: r.life, Capabilities: []byte(legacyHasTasks), Protocol: protocol.Version20251125}}
	one.Items[protocol.Tools] = [][]byte{[]byte(`{"name":"a","inputSchema":{"type":"object"}}`)}
	one.Items[protocol.Resources] = [][]byte{[]byte(`{"uri":"file:///r","name":"r"}`)}
	one.Silent[protocol.Tools], one.Silent[protocol.Resources] = true, true
	two := catalog.Source{Server: &catalog.Server{Name: "two", Order: 1, Rules: rules, Settled: r.rng.IntN(3) > 0, Protocol: protocol.Version20250618}}
	two.Items[protocol.Tools] = [][]byte{fmt.Appendf(nil, `{"name":"b%d","inputSchema":{"type":"object"}}`, r.rng.IntN(2))}
	switch r.rng.IntN(12) {
	case 0:
		return []catalog.Source{two}
	case 1, 2:
		return []catalog.Source{one}
	}
	return []catalog.Source{one, two}
}

func (r *script) publish() {
	naming := catalog.Naming{Namespace: config.Default().Namespace, URIStyle: "original", PageSize: 10}
	r.snapshot = catalog.Build(r.snapshot, r.sources(), naming)
	r.step(message.Published{Snapshot: r.snapshot})
}

func (r *script) openStream() {
	path := "/mcp"
	if r.s.transport == "sse" {
		path = "/sse"
	}
	r.step(message.StreamOpened{Stream: &downstream.EventStream{Origin: downstream.Origin{Path: path}}, Admitted: message.Admitted{Who: r.s.principal.who}})
}

// send sends a message of the client: an object with the formatted members.
func (r *script) send(format string, args ...any) {
	if r.left {
		return
	}
	x := &downstream.Exchange{Origin: downstream.Origin{Path: "/mcp", JSONOnly: r.rng.IntN(8) == 0}}
	if r.s.transport == "sse" {
		x.Origin.Path = "/messages"
	}
	x.Frame, x.Params = actortest.Request(r.t, `{"jsonrpc":"2.0",`+fmt.Sprintf(format, args...)+`}`)
	r.exchanges = append(r.exchanges, x)
	r.log = append(r.log, string(x.Frame.Raw))
	r.step(message.Inbound{Exchange: x, Admitted: message.Admitted{Who: r.s.principal.who}})
}

func (r *script) fatalf(format string, args ...any) {
	r.t.Helper()
	for _, line := range r.log {
		r.t.Log(line)
	}
	r.t.Fatalf(format, args...)
}

// step passes a message to the session unless it has ended, then checks the effects and the state.
func (r *script) step(msg any) {
	if r.left {
		return
	}
	switch m := msg.(type) {
	case message.Done:
		r.over[m.Seq] = true
	case message.Failed:
		r.over[m.Seq] = true
	}
	r.log = append(r.log, status.Printable(fmt.Sprintf("%T %v", msg, msg), 100))
	leaves := false
	effects := step(r.s, r.now, msg, nil)
	r.countedFirst(msg, effects)
	for _, e := range effects {
		r.told(e.Msg)
		r.done(e.Act)
		if _, ok := e.Act.(kernel.SelfStop); ok {
			leaves = true
		}
	}
	r.check()
	if leaves {
		r.stop()
	}
	for len(r.queue) > 0 {
		next := r.queue[0]
		r.queue = r.queue[1:]
		r.step(next)
	}
}

// stop ends the session and checks that every waiting request is answered and no call is left.
func (r *script) stop() {
	if r.left {
		return
	}
	r.log = append(r.log, "it leaves")
	for _, e := range step(r.s, r.now, kernel.Stopping{}, nil) {
		r.told(e.Msg)
		r.done(e.Act)
	}
	r.left = true
	if r.s.calls.Len()+r.s.calls.Indexed()+len(r.s.questions.open) > 0 {
		r.fatalf("%d calls, %d ids, %d questions after the stop", r.s.calls.Len(), r.s.calls.Indexed(), len(r.s.questions.open))
	}
}

// told records a message to another actor.
func (r *script) told(msg any) {
	switch m := msg.(type) {
	case message.Dispatch:
		r.running = append(r.running, m.Call.Seq)
	case message.Cancel:
		if !slices.Contains(r.running, m.Call.Seq) || r.over[m.Call.Seq] {
			r.fatalf("call %d is canceled, but was never started or has ended", m.Call.Seq)
		}
		r.over[m.Call.Seq] = true
	case message.SubscribeURI:
		if !slices.Contains(r.subscribes, m.Seq) {
			r.subscribes = append(r.subscribes, m.Seq)
		}
	case message.SetSessionLevel:
		if m.Seq != 0 {
			r.levels = append(r.levels, m.Seq)
		}
	case message.ReserveSubscriptions:
		r.asks = append(r.asks, m)
	case message.ReleaseSubscriptions:
		r.holds -= m.Count
	case message.Refresh:
		r.refreshes = append(r.refreshes, m.Seq)
	case message.ServerRequestResult:
		if r.answered[m.Key] {
			r.fatalf("question %d is answered twice", m.Key)
		}
		r.answered[m.Key] = true
	}
}

// done records and checks one effect.
func (r *script) done(act any) {
	switch a := act.(type) {
	case reply.Answer:
		r.end(a.X)
		f := actortest.Frame(r.t, string(a.Frame))
		if string(f.IDBytes()) != string(a.X.Frame.IDBytes()) {
			r.fatalf("answer %s to request %s", a.Frame, a.X.Frame.Raw)
		}
	case reply.AnswerPieces:
		r.end(a.X)
	case reply.Accept:
		r.end(a.X)
	case refuse:
		r.end(a.x)
	case reply.Notify:
		if r.ended[a.X] > 0 {
			r.fatalf("%s is said after the answer to %s", a.Frame, a.X.Frame.Raw)
		}
		if f := actortest.Frame(r.t, string(a.Frame)); f.Kind == protocol.KindRequest {
			r.questions = append(r.questions, string(f.IDBytes()))
		}
	case push:
		if !r.reads && r.rng.IntN(4) == 0 {
			if a.undelivered != nil {
				r.queue = append(r.queue, undelivered{a.undelivered})
			}
		}
	case openStream:
		if a.refusal == 0 {
			r.streams = append(r.streams, a.stream)
		}
	case kernel.Wake:
		r.timers[a.Msg] = r.now.Add(a.After)
	}
}

func (r *script) end(x *downstream.Exchange) {
	if r.ended[x]++; r.ended[x] > 1 {
		r.fatalf("%s is answered twice", x.Frame.Raw)
	}
}

// check compares the parts of the session's state with each other, and its timer with the deadlines of its calls.
func (r *script) check() {
	s := r.s
	var first time.Time
	own := 0
	for seq, h := range s.calls.All() {
		if h.listing == nil {
			own++
			if indexed, _ := s.calls.Find(string(h.ID)); indexed != seq {
				r.fatalf("call %d cannot be found by its id", seq)
			}
		}
		if r.ended[h.x] > 0 {
			r.fatalf("call %d goes on, and its request has ended", seq)
		}
		if at := h.Deadline(); !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if n := s.calls.Indexed(); n != own {
		r.fatalf("%d ids are of %d calls", n, own)
	}
	if at, armed := r.timers[s.calls.Timer()]; !first.IsZero() && (!armed || at.After(first)) {
		r.fatalf("a call ends at %v, and the clock is set to %v (%v)", first, at, armed)
	}
	for number, q := range s.questions.open {
		if s.calls.Held(q.seq) == nil {
			r.fatalf("question %d is of call %d, which has ended", number, q.seq)
		}
	}
	kept := 0
	for _, sub := range s.subs.active {
		kept += len(sub.Due)
	}
	if kept != s.subs.waiting {
		r.fatalf("%d updates are kept, and counted as %d", kept, s.subs.waiting)
	}
	needs := 0
	for resource := range s.subs.active {
		needs += clientsubs.Cost(resource.URI)
	}
	if asked := s.principal.who != nil; asked && needs != r.holds || !asked && r.holds+len(r.asks) > 0 || s.subs.reserved != 0 {
		r.fatalf("it holds %d subscriptions, needs %d, and has room for %d", r.holds, needs, s.subs.reserved)
	}
	if s.limits.MaxInFlightPerClient > 0 && s.calls.Indexed() > s.limits.MaxInFlightPerClient {
		r.fatalf("%d calls are in flight", s.calls.Indexed())
	}
	if s.countParked() > s.limits.ParkedPerClient {
		r.fatalf("%d calls are parked", s.countParked())
	}
}

// pass advances the clock by d and fires the timers that are due.
func (r *script) pass(d time.Duration) {
	until := r.now.Add(d)
	for !r.left {
		var next any
		for msg, at := range r.timers {
			if !at.After(until) && (next == nil || at.Before(r.timers[next]) || at.Equal(r.timers[next]) && fmt.Sprint(msg) < fmt.Sprint(next)) {
				next = msg
			}
		}
		if next == nil {
			break
		}
		r.now = r.timers[next]
		delete(r.timers, next)
		counts := next == r.s.calls.Timer() // false = a newer timer has replaced it
		r.step(next)
		if counts && r.armed() && r.s.calls.Len() == 0 {
			r.fatalf("the clock runs, and there is no call")
		}
	}
	r.now = until
	for seq, h := range r.s.calls.All() {
		if at := h.Deadline(); !at.IsZero() && !at.After(r.now) {
			r.fatalf("call %d was to end at %v", seq, at)
		}
	}
}

// armed reports whether the session's current timer for call deadlines is set.
func (r *script) armed() bool {
	_, armed := r.timers[r.s.calls.Timer()]
	return armed
}

// In any order of messages: each request gets exactly one answer, under its own id; nothing is sent about a request after its
// answer; a server request is answered at most once; no pool keeps a call that has ended; the timer for deadlines fires in time and
// is set only while there are calls; and after every request is answered, none of its state is left.
func TestSessionScripts(t *testing.T) {
	for seed := range uint64(600) {
		r := newScript(t, seed)
		for range 150 {
			r.act()
		}
		if seed%2 == 0 {
			r.settle()
			r.empty()
		}
		r.stop()
		for _, seq := range r.running {
			if !r.over[seq] {
				r.fatalf("seed %d: call %d is still its pool's", seed, seq)
			}
		}
		for _, x := range r.exchanges {
			if r.ended[x] == 0 {
				r.fatalf("seed %d: %s was never answered", seed, x.Frame.Raw)
			}
		}
	}
}

// countedFirst checks that a call is counted before its answer is sent.
func (r *script) countedFirst(msg any, effects []kernel.Effect) {
	r.t.Helper()
	switch msg.(type) {
	case message.Done, message.Failed:
	default:
		return // it may end several calls
	}
	answer := slices.IndexFunc(effects, func(e kernel.Effect) bool { _, is := e.Act.(reply.Answer); return is })
	count := slices.IndexFunc(effects, func(e kernel.Effect) bool { _, is := e.Act.(*clientcalls.CallOutcome); return is })
	if answer >= 0 && count > answer {
		r.t.Errorf("the answer is sent before the call is counted: %+v", effects)
	}
}

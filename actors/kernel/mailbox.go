package kernel

import (
	"reflect"
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

const (
	defaultLimit = 1024 // when SpawnOptions.Mailbox is 0
	logLimit     = 256  // LogLines queued before the oldest is dropped
)

// phase is how far a mailbox is on its way out.
type phase uint8

const (
	open    phase = iota // takes messages
	closing              // the actor has had its Stopping; waits for its children; messages are abandoned with StoppedWhy
	gone                 // the actor has stopped; messages are abandoned with Gone
)

// mailbox is an actor's queue: system > urgent > all others in one lane, log lines among them, or in a fair mailbox in several
// such lanes that take turns. It answers (abandons) whatever it does not deliver. It implements actor.Mailbox. Nothing foreign is called while mu is held.
type mailbox struct {
	owner   *cell
	limit   int // of messages in all lanes, those that are keyed and log lines not counted: they have bounds of their own
	process func()

	mu          sync.Mutex
	system      ring // protoactor's own messages
	urgent      ring
	base        lane    // all other messages, or those of nobody in a fair mailbox
	fair        *lanes  // the others of a fair mailbox; else nil
	depth       int     // messages in all lanes, log lines too
	waiting     int     // those that count against limit
	keys        keys    // the newest State or Step of each key
	held        int     // bytes of those messages
	logged      int     // bytes of log lines
	weight      int     // bytes of the messages that came by TellWait
	spilled     []any   // log lines that lost their place to one message beside the one that put returns; to be abandoned
	waiters     waiters // TellWait; not empty only while there is no room, of messages or bytes
	order       uint64
	incarnation uint32 // the one at work, 0 before the first
	phase       phase
	started     bool // protoactor has called Start
	scheduled   bool // a goroutine runs process, or is about to
	suspended   bool // a failed incarnation waits for its supervisor: only system messages
	broken      bool // the incarnation at work has panicked
	counts      counts

	single  bool     // Fate says when the next message is handled
	after   *mailbox // in the chain it waits in; touched by its goroutine alone
	chain   *chain   // of the goroutine that runs it; touched by that alone, as are current and lender
	current any      // user message being handled
	lender  uint64   // of that message
	invoker actor.MessageInvoker
	pool    actor.Dispatcher
}

// counts is what Info shows of a mailbox.
type counts struct {
	handled, refused, dropped, panics uint64
	last                              reflect.Type // of the last message handed to the actor
}

func (m *mailbox) init(owner *cell, limit int, fair bool) {
	if limit <= 0 {
		limit = defaultLimit
	}
	m.owner, m.limit = owner, limit
	m.process = m.run // one closure for all wakes
	if fair {
		m.fair = &lanes{byNumber: map[uint32]*lane{}}
	}
}

// tell is Reference.Tell.
func (m *mailbox) tell(msg any) {
	if m.accept(msg, 0) {
		m.rouse()
	}
}

// tellFrom is tell by the actor whose mailbox from is, while it is run.
func (m *mailbox) tellFrom(from *mailbox, msg any) {
	if m.accept(msg, from.lender) && !from.chain.take(m) {
		m.rouse()
	}
}

// tellHere is Reference.TellHere.
func (m *mailbox) tellHere(msg any) {
	if lender := lenders.Add(1); m.accept(msg, lender) {
		m.runHere(lender)
	}
}

// rouse has some goroutine run the mailbox.
func (m *mailbox) rouse() { m.pool.Schedule(m.process) }

// runHere has the calling goroutine run the mailbox for a while. lender: 0 = it cannot be lent any further.
func (m *mailbox) runHere(lender uint64) {
	if m.single {
		m.rouse()
		return
	}
	run(m, lentMost, lender)
}

// run is what rouse has done: everything there is, and in a simulated world one message, as what comes after it is for Fate to say.
func (m *mailbox) run() {
	share := ownMost
	if m.single {
		share = 1
	}
	run(m, share, 0)
}

// accept queues msg according to its class. It reports whether the mailbox has to be run by somebody from now on.
func (m *mailbox) accept(msg any, lender uint64) (wake bool) {
	class := classOf(msg)
	var key any
	if class == State || class == Step {
		key = keyOf(msg)
	}
	return m.post(entry{msg: msg, class: class, lender: lender}, key)
}

// tellOwn posts a timer's message or a result of Go for one incarnation. It is never refused.
func (m *mailbox) tellOwn(incarnation uint32, msg any) {
	if m.post(entry{msg: msg, class: Outcome, incarnation: incarnation}, nil) {
		m.rouse()
	}
}

func (m *mailbox) post(e entry, key any) (wake bool) {
	lane := m.laneOf(e.msg)
	m.mu.Lock()
	return m.admit(lane, e, key)
}

// admit queues e, releases mu, which is held, and deals with what lost its place.
func (m *mailbox) admit(lane uint32, e entry, key any) (wake bool) {
	lost, why := m.put(lane, e, key)
	wake, spilled := m.wake(), m.spilled
	m.spilled = nil
	m.mu.Unlock()
	if lost != nil {
		m.owner.abandon(lost, why)
	}
	for _, msg := range spilled {
		m.owner.abandon(msg, Overloaded)
	}
	return wake
}

// put queues e and returns the message that lost its place, if any: e's own or an older one. mu is held.
func (m *mailbox) put(number uint32, e entry, key any) (lost any, why Why) {
	switch m.phase {
	case closing:
		return e.msg, StoppedWhy
	case gone:
		return e.msg, Gone
	}
	m.order++
	e.order = m.order
	if e.class == Urgent {
		m.urgent.push(e)
		return nil, ""
	}
	l := m.laneFor(number)
	depth, waits := l.len(), l.waits()
	switch e.class {
	case LogLine:
		lost, why = m.putLog(l, e), Overloaded
	case State, Step:
		lost, why = m.putKeyed(l, e, key)
	case Outcome:
		l.user.push(e)
	default:
		if m.refuses(l) {
			m.counts.refused++
			lost, why = e.msg, Overloaded
		} else {
			l.user.push(e)
		}
	}
	m.settle(l, depth, waits)
	return lost, why
}

// settle brings the books up to date after a change of a lane that had depth messages, waits of which counted. mu is held.
func (m *mailbox) settle(l *lane, depth, waits int) {
	m.depth += l.len() - depth
	m.waiting += l.waits() - waits
	if m.fair != nil && !l.turn {
		m.taken(l)
	}
}

// wake reports whether somebody must run the mailbox, and notes that it will be. mu is held.
func (m *mailbox) wake() bool {
	if m.scheduled || !m.started || !(m.system.len() > 0 || m.deliverable()) {
		return false
	}
	m.scheduled = true
	return true
}

// deliverable reports whether a message may be handed to the actor's logic. mu is held.
func (m *mailbox) deliverable() bool {
	return m.phase == open && !m.suspended && m.urgent.len()+m.depth > 0
}

// close abandons all that is queued and takes nothing more; system messages still pass.
func (m *mailbox) close(to phase) {
	m.mu.Lock()
	m.phase = max(m.phase, to)
	m.waiters.dismiss()
	var left []any
	for m.urgent.len()+m.depth > 0 {
		left = append(left, m.take().msg)
	}
	m.urgent, m.base = ring{}, lane{}
	if m.fair != nil {
		m.fair.forget()
	}
	m.mu.Unlock()
	for _, msg := range left {
		m.owner.abandon(msg, StoppedWhy)
	}
}

// begin notes that the incarnation starts work.
func (m *mailbox) begin(incarnation uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.incarnation, m.broken = incarnation, false
}

func (m *mailbox) isBroken() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.broken
}

// PostUserMessage is for protoactor; our own messages come through tell.
func (m *mailbox) PostUserMessage(msg any) { m.tell(msg) }

// PostSystemMessage queues a message of protoactor's own.
func (m *mailbox) PostSystemMessage(msg any) {
	m.mu.Lock()
	if m.phase != gone {
		m.system.push(entry{msg: msg})
	}
	wake := m.wake()
	m.mu.Unlock()
	if wake {
		m.rouse()
	}
}

// RegisterHandlers is called by protoactor once, before Start. Messages may be there already: they wait for Start.
func (m *mailbox) RegisterHandlers(invoker actor.MessageInvoker, pool actor.Dispatcher) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.invoker, m.pool = invoker, pool
	if f, ok := pool.(fated); ok {
		m.single, m.pool = true, fated{f.fate, m.owner.name}
	}
}

// Start is called by protoactor when its Started is queued: from now on messages are handled.
func (m *mailbox) Start() {
	m.mu.Lock()
	m.started = true
	wake := m.wake()
	m.mu.Unlock()
	if wake {
		m.rouse()
	}
}

// UserMessageCount returns how many messages wait, system messages not counted.
func (m *mailbox) UserMessageCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.urgent.len() + m.depth
}

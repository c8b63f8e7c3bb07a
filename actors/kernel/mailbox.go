package kernel

import (
	"reflect"
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

const (
	defaultLimit = 1024 // when SpawnOptions.Mailbox is not positive
	logLimit     = 256  // maximum number of LogLines queued in one lane; beyond it the oldest is dropped
)

// phase is the life-cycle state of a mailbox.
type phase uint8

const (
	open    phase = iota // accepts messages
	closing              // the actor has received Stopping and waits for its children; messages are abandoned with ReceiverStopped
	gone                 // the actor has stopped; messages are abandoned with NotRunning
)

// mailbox is an actor's queue. Its order is: system messages, urgent ones, then all others in one lane, or in a fair
// mailbox in lanes that take turns. It abandons every message it does not deliver. No Step, Act, Abandon or Key is
// called while mu is held, except the Key of a Sum's result. mailbox implements actor.Mailbox.
type mailbox struct {
	owner   *cell
	limit   int // messages in all lanes, except keyed ones and log lines, which have limits of their own
	process func()

	mu          sync.Mutex
	system      ring // protoactor's own messages
	urgent      ring
	base        lane    // all other messages; in a fair mailbox those without a lane
	fair        *lanes  // the lanes of a fair mailbox; else nil
	depth       int     // messages in all lanes, including log lines
	waiting     int     // messages that count against limit
	keys        keys    // the newest State or Step message of each key
	keyedBytes  int     // of all queued State and Step messages
	logBytes    int     // of log lines
	waitedBytes int     // of the messages from TellWait
	displaced   []any   // log lines dropped by put beyond the one it returned; to be abandoned
	waiters     waiters // goroutines in TellWait; empty unless there is no room
	order       uint64
	incarnation uint32 // the current one; 0 before the first
	phase       phase
	started     bool // protoactor has called Start
	scheduled   bool // a goroutine runs the mailbox, or is about to
	suspended   bool // a failed incarnation waits for its supervisor; only system messages are handled
	broken      bool // the current incarnation has panicked
	counts      counts

	simulated   bool     // a Scheduler decides when the next message is handled
	nextInChain *mailbox // used only by the chain's goroutine
	chain       *chain   // of the goroutine running it; used only by that goroutine, as are current and caller
	current     any      // message being handled, unless it is one of protoactor's; nil = none
	caller      uint64   // inline call the current message belongs to; 0 = none
	invoker     actor.MessageInvoker
	dispatcher  actor.Dispatcher
}

// counts holds the counters that Info shows.
type counts struct {
	handled, refused, dropped, panics uint64
	last                              reflect.Type // of the last message counted in handled
}

func (m *mailbox) init(owner *cell, limit int, fair bool) {
	if limit <= 0 {
		limit = defaultLimit
	}
	m.owner, m.limit = owner, limit
	m.process = m.run // one closure for all runs
	if fair {
		m.fair = &lanes{byNumber: map[uint32]*lane{}}
	}
}

// tell implements Reference.Tell.
func (m *mailbox) tell(msg any) {
	if m.accept(msg, 0) {
		m.schedule()
	}
}

// tellFrom implements Tell for a message sent by the actor whose mailbox is from, while that actor runs.
func (m *mailbox) tellFrom(from *mailbox, msg any) {
	if m.accept(msg, from.caller) && !from.chain.take(m) {
		m.schedule()
	}
}

// tellInline implements Reference.TellInline.
func (m *mailbox) tellInline(msg any) {
	if caller := inlineCalls.Add(1); m.accept(msg, caller) {
		m.runInline(caller)
	}
}

// schedule requests that a goroutine of the dispatcher run the mailbox.
func (m *mailbox) schedule() { m.dispatcher.Schedule(m.process) }

// runInline handles up to maxInline messages of the mailbox and its chain on the calling goroutine. In a simulated system
// it schedules the mailbox instead. caller identifies the inline call; 0 means that no job may be set.
func (m *mailbox) runInline(caller uint64) {
	if m.simulated {
		m.schedule()
		return
	}
	run(m, maxInline, caller)
}

// run is the function the dispatcher calls. It handles all messages; in a simulated system it handles one, since the
// Scheduler decides what comes next.
func (m *mailbox) run() {
	share := unlimited
	if m.simulated {
		share = 1
	}
	run(m, share, 0)
}

// accept queues msg according to its class. It reports whether the caller must run or schedule the mailbox.
func (m *mailbox) accept(msg any, caller uint64) (wake bool) {
	class := classOf(msg)
	var key any
	if class == State || class == Step {
		key = keyOf(msg)
	}
	return m.post(entry{msg: msg, class: class, caller: caller}, key)
}

// tellOwn queues the message of a timer or a result of Go for one incarnation, even if the mailbox is full.
func (m *mailbox) tellOwn(incarnation uint32, msg any) {
	if m.post(entry{msg: msg, class: Outcome, incarnation: incarnation}, nil) {
		m.schedule()
	}
}

func (m *mailbox) post(e entry, key any) (wake bool) {
	lane := m.laneOf(e.msg)
	m.mu.Lock()
	return m.admit(lane, e, key)
}

// admit queues e and releases mu, which the caller must hold. Then it abandons the messages that were dropped: e itself if the mailbox
// refused it, or older ones that e displaced. wake reports whether the mailbox must be scheduled.
func (m *mailbox) admit(lane uint32, e entry, key any) (wake bool) {
	lost, why := m.put(lane, e, key)
	wake, spilled := m.wake(), m.displaced
	m.displaced = nil
	m.mu.Unlock()
	if lost != nil {
		m.owner.abandon(lost, why)
	}
	for _, msg := range spilled {
		m.owner.abandon(msg, Overloaded)
	}
	return wake
}

// put queues e. If a message is dropped, put returns it and the reason: e's own message, or an older one that e
// displaced. It adds further displaced log lines to m.displaced. The caller must hold mu.
func (m *mailbox) put(number uint32, e entry, key any) (lost any, why Reason) {
	switch m.phase {
	case closing:
		return e.msg, ReceiverStopped
	case gone:
		return e.msg, NotRunning
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

// settle updates the mailbox's counts and the lists of lanes after a change of lane l. depth and waits are the results of
// l.len and l.waits from before the change. The caller must hold mu.
func (m *mailbox) settle(l *lane, depth, waits int) {
	m.depth += l.len() - depth
	m.waiting += l.waits() - waits
	if m.fair != nil && !l.turn {
		m.taken(l)
	}
}

// wake reports whether the mailbox has to be run, and marks it as scheduled. The caller must hold mu.
func (m *mailbox) wake() bool {
	if m.scheduled || !m.started || !(m.system.len() > 0 || m.deliverable()) {
		return false
	}
	m.scheduled = true
	return true
}

// deliverable reports whether a message may be passed to the Logic. The caller must hold mu.
func (m *mailbox) deliverable() bool {
	return m.phase == open && !m.suspended && m.urgent.len()+m.depth > 0
}

// close abandons the queued messages and refuses further ones. System messages still pass until the mailbox is gone.
func (m *mailbox) close(to phase) {
	m.mu.Lock()
	m.phase = max(m.phase, to)
	m.dismissWaiters()
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
		m.owner.abandon(msg, ReceiverStopped)
	}
}

// begin records that an incarnation has started.
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

// PostUserMessage implements actor.Mailbox. Our own messages arrive through tell.
func (m *mailbox) PostUserMessage(msg any) { m.tell(msg) }

// PostSystemMessage implements actor.Mailbox. It queues one of protoactor's messages.
func (m *mailbox) PostSystemMessage(msg any) {
	m.mu.Lock()
	if m.phase != gone {
		m.system.push(entry{msg: msg})
	}
	wake := m.wake()
	m.mu.Unlock()
	if wake {
		m.schedule()
	}
}

// RegisterHandlers implements actor.Mailbox. protoactor calls it once, before Start. Messages queued earlier wait for
// Start.
func (m *mailbox) RegisterHandlers(invoker actor.MessageInvoker, pool actor.Dispatcher) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.invoker, m.dispatcher = invoker, pool
	if f, ok := pool.(simulated); ok {
		m.simulated, m.dispatcher = true, simulated{f.scheduler, m.owner.name}
	}
}

// Start implements actor.Mailbox. protoactor calls it after queuing its Started message; from then on messages are
// handled.
func (m *mailbox) Start() {
	m.mu.Lock()
	m.started = true
	wake := m.wake()
	m.mu.Unlock()
	if wake {
		m.schedule()
	}
}

// UserMessageCount implements actor.Mailbox. It returns the number of queued messages without system messages.
func (m *mailbox) UserMessageCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.urgent.len() + m.depth
}

package kernel

import (
	"reflect"
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

const (
	defaultLimit = 1024 // user lane, when SpawnOptions.Mailbox is 0
	logLimit     = 256  // LogLines queued before the oldest is dropped
)

// phase is how far a mailbox is on its way out.
type phase uint8

const (
	open    phase = iota // takes messages
	closing              // the actor has had its Stopping; waits for its children; messages are abandoned with StoppedWhy
	gone                 // the actor has stopped; messages are abandoned with Gone
)

// mailbox is an actor's queue: system > urgent > user lane with log lines in between. It answers (abandons) whatever
// it does not deliver. It implements actor.Mailbox. Nothing foreign is called while mu is held.
type mailbox struct {
	owner   *cell
	limit   int // of the user lane
	process func()

	mu          sync.Mutex
	system      ring // protoactor's own messages
	urgent      ring
	user        ring           // Work, Outcome, State
	logs        ring           // LogLine, at most logLimit; merged with user by order
	keys        map[any]*state // State messages in user by their key
	waiters     waiters        // TellWait; not empty only while user is at waitLimit
	order       uint64
	incarnation uint32 // the one at work, 0 before the first
	phase       phase
	started     bool // protoactor has called Start
	scheduled   bool // a goroutine runs process, or is about to
	suspended   bool // a failed incarnation waits for its supervisor: only system messages
	broken      bool // the incarnation at work has panicked
	flusher     bool // the logic wants Flush
	dirty       bool // something was delivered since the last Flush
	counts      counts

	current any // user message being handled; touched by the processing goroutine alone
	invoker actor.MessageInvoker
	pool    actor.Dispatcher
}

// state stands in the user lane for a State message, so that a newer one can take its place.
type state struct{ msg, key any }

// counts is what Info shows of a mailbox.
type counts struct {
	handled, refused, dropped, panics uint64
	last                              reflect.Type // of the last message handed to the actor
}

func (m *mailbox) init(owner *cell, limit int) {
	if limit <= 0 {
		limit = defaultLimit
	}
	m.owner, m.limit = owner, limit
	m.process = m.run // one closure for all wakes
}

// tell is Reference.Tell.
func (m *mailbox) tell(msg any) {
	class := classOf(msg)
	var key any
	if class == State {
		key = keyOf(msg)
	}
	m.post(entry{msg: msg, class: class}, key)
}

// tellOwn posts a timer's message or a result of Go for one incarnation. It is never refused.
func (m *mailbox) tellOwn(incarnation uint32, msg any) {
	m.post(entry{msg: msg, class: Outcome, incarnation: incarnation}, nil)
}

func (m *mailbox) post(e entry, key any) {
	m.mu.Lock()
	lost, why := m.put(e, key)
	wake := m.wake()
	m.mu.Unlock()
	if wake {
		m.pool.Schedule(m.process)
	}
	if lost != nil {
		m.owner.abandon(lost, why)
	}
}

// put queues e and returns the message that lost its place, if any: e's own or an older one. mu is held.
func (m *mailbox) put(e entry, key any) (lost any, why Why) {
	switch m.phase {
	case closing:
		return e.msg, StoppedWhy
	case gone:
		return e.msg, Gone
	}
	m.order++
	e.order = m.order
	switch e.class {
	case Urgent:
		m.urgent.push(e)
	case LogLine:
		if m.logs.len() == logLimit {
			lost, why = m.logs.pop().msg, Overloaded
			m.counts.dropped++
		}
		m.logs.push(e)
	case State:
		return m.putState(e, key)
	case Outcome:
		m.user.push(e)
	default:
		if m.user.len() >= m.limit {
			m.counts.refused++
			return e.msg, Overloaded
		}
		m.user.push(e)
	}
	return lost, why
}

func (m *mailbox) putState(e entry, key any) (lost any, why Why) {
	if queued, ok := m.keys[key]; ok {
		lost, queued.msg = queued.msg, e.msg
		return lost, Superseded
	}
	if m.keys == nil {
		m.keys = make(map[any]*state)
	}
	queued := &state{e.msg, key}
	m.keys[key] = queued
	e.msg = queued
	m.user.push(e)
	return nil, ""
}

// wake reports whether process must be scheduled, and notes that it is. mu is held.
func (m *mailbox) wake() bool {
	if m.scheduled || !m.started || !(m.system.len() > 0 || m.deliverable()) {
		return false
	}
	m.scheduled = true
	return true
}

// deliverable reports whether a message may be handed to the actor's logic. mu is held.
func (m *mailbox) deliverable() bool {
	return m.phase == open && !m.suspended && m.urgent.len()+m.user.len()+m.logs.len() > 0
}

// close abandons all that is queued and takes nothing more; system messages still pass.
func (m *mailbox) close(to phase) {
	m.mu.Lock()
	m.phase = max(m.phase, to)
	var left []any
	for _, lane := range []*ring{&m.urgent, &m.user, &m.logs} {
		for lane.len() > 0 {
			msg := lane.pop().msg
			if s, ok := msg.(*state); ok {
				msg = s.msg
			}
			left = append(left, msg)
		}
		*lane = ring{}
	}
	m.keys = nil
	m.waiters.dismiss()
	m.mu.Unlock()
	for _, msg := range left {
		m.owner.abandon(msg, StoppedWhy)
	}
}

// begin notes that the incarnation starts work.
func (m *mailbox) begin(incarnation uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.incarnation, m.flusher, m.broken = incarnation, false, false
}

// flushes notes whether the incarnation wants Flush.
func (m *mailbox) flushes(yes bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.flusher = yes
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
		m.pool.Schedule(m.process)
	}
}

// RegisterHandlers is called by protoactor once, before Start. Messages may be there already: they wait for Start.
func (m *mailbox) RegisterHandlers(invoker actor.MessageInvoker, pool actor.Dispatcher) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.invoker, m.pool = invoker, pool
}

// Start is called by protoactor when its Started is queued: from now on messages are handled.
func (m *mailbox) Start() {
	m.mu.Lock()
	m.started = true
	wake := m.wake()
	m.mu.Unlock()
	if wake {
		m.pool.Schedule(m.process)
	}
}

// UserMessageCount returns how many messages wait, system messages not counted.
func (m *mailbox) UserMessageCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.urgent.len() + m.user.len() + m.logs.len()
}

package kernel

import (
	"errors"
	"reflect"

	"github.com/asynkron/protoactor-go/actor"
)

// delivery is the kind of message that next returned.
type delivery uint8

const (
	nothing delivery = iota
	systemMessage
	userMessage
	outdated // for a former incarnation
)

var errGoexit = errors.New("runtime.Goexit called")

// turn handles messages. It returns false if none is left, and true if it is another mailbox's turn, the chain has
// used up its share, or a handler panicked. A runtime.Goexit in a handler, as t.FailNow calls it, counts as a panic:
// it ends the goroutine, but not the actor.
func (m *mailbox) turn(c *chain) (again bool) {
	m.chain = c
	done := false
	defer func() {
		if done {
			return
		}
		if cause := recover(); cause != nil {
			m.failed(cause)
			again = true
			return
		}
		m.failed(errGoexit)
		m.schedule()
	}()
	for !c.yields() {
		e, what := m.next()
		switch what {
		case systemMessage:
			m.invoker.InvokeSystemMessage(e.msg)
		case userMessage:
			m.current, m.caller = e.msg, e.caller
			m.invoker.InvokeUserMessage(e.msg)
			m.current, m.caller = nil, 0
		case outdated:
			m.owner.abandon(e.msg, ReceiverStopped)
		case nothing:
			done = true
			return false
		}
	}
	done = true
	return true
}

// next removes and returns the message to handle next. If there is none, the mailbox becomes idle and the next post
// schedules it.
func (m *mailbox) next() (entry, delivery) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.system.len() > 0 {
		if e := m.system.pop(); m.passes(e.msg) {
			if m.system.len() == 0 {
				m.system = ring{} // release the buffer: system messages are rare and idle actors are many
			}
			return e, systemMessage
		}
	}
	if m.deliverable() {
		e := m.take()
		if e.incarnation != 0 && e.incarnation != m.incarnation {
			return e, outdated
		}
		if _, looks := e.msg.(Observation); !looks {
			m.counts.handled++
			m.counts.last = reflect.TypeOf(e.msg)
		}
		return e, userMessage
	}
	m.scheduled = false
	return entry{}, nothing
}

// passes reports whether a system message goes to protoactor, and handles those for the mailbox itself. A Restart must
// not reach a stopping actor: it would revive the actor, and its parent would wait forever. The caller must hold mu.
func (m *mailbox) passes(msg any) bool {
	switch msg.(type) {
	case *actor.SuspendMailbox:
		m.suspended = true
		return false
	case *actor.ResumeMailbox:
		m.suspended = false
		return false
	case *actor.Restart:
		return m.phase == open
	}
	return true
}

// take removes and returns the first urgent message, or else one of the lane whose turn it is. In the latter case it
// also accepts messages from TellWait for which there is room now. The caller must hold mu.
func (m *mailbox) take() entry {
	if m.urgent.len() > 0 {
		return m.urgent.pop()
	}
	l := m.nextLane()
	depth, waits := l.len(), l.waits()
	e := m.pop(l)
	m.settle(l, depth, waits)
	if e.sized {
		m.waitedBytes -= sizeOf(e.msg)
	}
	for w := m.waiters.first(); w != nil; w = m.waiters.first() {
		size := 0
		if w.entry.sized {
			size = sizeOf(w.entry.msg)
		}
		if !m.hasRoom(size) {
			break
		}
		m.waitedBytes += size
		m.waiters.remove(w)
		w.entry.class = Outcome // there is room for it now
		m.put(w.lane, w.entry, nil)
		m.owner.system.afterStep(func() { close(w.done) })
	}
	return e
}

// pop removes and returns the older of a lane's first message and its first log line. The caller must hold mu.
func (m *mailbox) pop(l *lane) entry {
	if l.logs.len() > 0 && (l.user.len() == 0 || l.logs.at(l.logs.head).order < l.user.at(l.user.head).order) {
		return m.takeLog(l)
	}
	e := l.user.pop()
	if k, ok := e.msg.(*keyed); ok {
		e.msg = m.takeKeyed(k)
	}
	return e
}

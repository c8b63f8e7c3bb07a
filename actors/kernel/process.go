package kernel

import (
	"errors"
	"reflect"

	"github.com/asynkron/protoactor-go/actor"
)

// delivery is what next found.
type delivery uint8

const (
	nothing delivery = iota
	systemMessage
	userMessage
	outdated // of a former incarnation
)

var errGoexit = errors.New("runtime.Goexit called")

// turn handles messages until none is left (false), or until others of the chain have their turn, or one panicked (true).
// runtime.Goexit in a handler, the way of t.FailNow, counts as a panic: the goroutine is lost, the actor is not.
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
		m.rouse()
	}()
	for !c.passes() {
		e, what := m.next()
		switch what {
		case systemMessage:
			m.invoker.InvokeSystemMessage(e.msg)
		case userMessage:
			m.current, m.lender = e.msg, e.lender
			m.invoker.InvokeUserMessage(e.msg)
			m.current, m.lender = nil, 0
		case outdated:
			m.owner.abandon(e.msg, StoppedWhy)
		case nothing:
			done = true
			return false
		}
	}
	done = true
	return true
}

// next takes the message whose turn it is. With nothing the mailbox is idle and the next post schedules it.
func (m *mailbox) next() (entry, delivery) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.system.len() > 0 {
		if e := m.system.pop(); m.passes(e.msg) {
			if m.system.len() == 0 {
				m.system = ring{} // they are rare; idle actors are many
			}
			return e, systemMessage
		}
	}
	if m.deliverable() {
		e := m.take()
		if e.incarnation != 0 && e.incarnation != m.incarnation {
			return e, outdated
		}
		if _, looks := e.msg.(Glance); !looks {
			m.counts.handled++
			m.counts.last = reflect.TypeOf(e.msg)
		}
		return e, userMessage
	}
	m.scheduled = false
	return entry{}, nothing
}

// passes reports whether a system message goes to protoactor, having noted those that are for the mailbox itself.
// A Restart that reaches an actor which is stopping already would revive it, and its parent would wait for ever. mu is held.
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

// take pops the first of the urgent lane, else of the lane whose turn it is. mu is held.
func (m *mailbox) take() entry {
	if m.urgent.len() > 0 {
		return m.urgent.pop()
	}
	l := m.nextLane()
	depth, waits := l.len(), l.waits()
	e := m.pop(l)
	m.settle(l, depth, waits)
	if e.weighed {
		m.weight -= sizeOf(e.msg)
	}
	for w := m.waiters.first(); w != nil; w = m.waiters.first() {
		size := 0
		if w.entry.weighed {
			size = sizeOf(w.entry.msg)
		}
		if !m.hasRoom(size) {
			break
		}
		m.weight += size
		m.waiters.remove(w)
		w.entry.class = Outcome // it has waited for its room
		m.put(w.lane, w.entry, nil)
		close(w.done)
	}
	return e
}

// pop takes the older of a lane's first message and its first log line. mu is held.
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

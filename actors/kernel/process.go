package kernel

import (
	"errors"
	"reflect"
	"runtime"

	"github.com/asynkron/protoactor-go/actor"
)

// delivery is what next found.
type delivery uint8

const (
	nothing delivery = iota
	systemMessage
	userMessage
	flushDue
	outdated // of a former incarnation
)

var errGoexit = errors.New("runtime.Goexit called")

// flush reaches the shell as a message when the mailbox ran empty.
type flush struct{}

// run handles messages until there are none. At most one goroutine per mailbox is in here.
func (m *mailbox) run() {
	for m.turn() {
	}
}

// turn handles messages until none is left (false) or one panicked (true). runtime.Goexit in a handler, the way
// of t.FailNow, counts as a panic: the goroutine is lost, the actor is not.
func (m *mailbox) turn() (again bool) {
	idle := false
	defer func() {
		if idle {
			return
		}
		if cause := recover(); cause != nil {
			m.failed(cause)
			again = true
			return
		}
		m.failed(errGoexit)
		m.pool.Schedule(m.process)
	}()
	for i := 1; ; i++ {
		if i%throughput == 0 {
			runtime.Gosched()
		}
		e, what := m.next()
		switch what {
		case systemMessage:
			m.invoker.InvokeSystemMessage(e.msg)
		case userMessage:
			m.current = e.msg
			m.invoker.InvokeUserMessage(e.msg)
			m.current = nil
		case flushDue:
			m.invoker.InvokeUserMessage(flush{})
		case outdated:
			m.owner.abandon(e.msg, StoppedWhy)
		case nothing:
			idle = true
			return false
		}
	}
}

// next takes the message whose turn it is. With nothing the mailbox is idle and the next post schedules it.
func (m *mailbox) next() (entry, delivery) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.system.len() > 0 {
		if e := m.system.pop(); m.passes(e.msg) {
			m.dirty = true
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
		m.dirty = true
		if _, looks := e.msg.(Glance); !looks {
			m.counts.handled++
			m.counts.last = reflect.TypeOf(e.msg)
		}
		return e, userMessage
	}
	if m.dirty && m.flusher && m.phase == open && !m.suspended {
		m.dirty = false
		return entry{}, flushDue
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

// take pops the first of the urgent lane, else the older of the user lane's and the log lines' first. mu is held.
func (m *mailbox) take() entry {
	if m.urgent.len() > 0 {
		return m.urgent.pop()
	}
	if m.logs.len() > 0 && (m.user.len() == 0 || m.logs.at(m.logs.head).order < m.user.at(m.user.head).order) {
		return m.logs.pop()
	}
	e := m.user.pop()
	if s, ok := e.msg.(*state); ok {
		delete(m.keys, s.key)
		e.msg = s.msg
	}
	for m.user.len() < m.waitLimit() {
		w := m.waiters.first()
		if w == nil {
			break
		}
		m.waiters.remove(w)
		m.order++
		w.entry.order = m.order
		m.user.push(w.entry)
		close(w.done)
	}
	return e
}

package kernel

import (
	"log/slog"
	"reflect"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// cell is what stays of an actor over its incarnations.
type cell struct {
	system     *System
	parent     *cell  // nil at the top
	name, kind string // name is the full one
	order      uint64 // of spawning
	restarts   int    // allowed within `within`
	within     time.Duration
	box        mailbox
	door       *door
	stopped    chan struct{} // closed when the actor is gone; top level only, else nil
	log        atomic.Pointer[slog.Logger]
	lines      *slog.Logger           // SpawnOptions.Log
	why        atomic.Pointer[string] // why it stops, once somebody said so

	// Of the actor's own goroutine, or of the one that spawns it.
	children map[string]*cell // by full name
	lives    uint32           // incarnations so far

	// Guarded by box.mu.
	failures  []time.Time // the panics within `within`
	restarted int         // restarts ever
	failure   any         // the panic that ended it
}

// door is all that a timer holds of its actor: a timer lives until it fires, an actor that has ended must not live that long.
type door struct{ to atomic.Pointer[cell] } // nil once the actor has gone

func newDoor(to *cell) *door {
	d := new(door)
	d.to.Store(to)
	return d
}

// stop asks the actor to stop; the first reason given is the one Stopping carries. Safe for every goroutine.
func (c *cell) stop(why string) {
	c.why.CompareAndSwap(nil, &why)
	c.box.PostSystemMessage(&actor.Stop{})
}

func (c *cell) logger() *slog.Logger {
	if l := c.log.Load(); l != nil {
		return l
	}
	l := c.system.log.With("actor", c.name)
	c.log.Store(l)
	return l
}

// abandon answers a message that will not be handled. A panic in there is a bug of the message, and costs nobody else.
func (c *cell) abandon(msg any, why Why) {
	a, ok := msg.(Abandoner)
	if !ok {
		return
	}
	defer func() {
		if cause := recover(); cause != nil {
			c.logger().Error("abandoning a message panicked", "message", reflect.TypeOf(msg).String(), "error", cause, "stack", string(debug.Stack()))
		}
	}()
	a.Abandon(why)
}

// failed answers the message whose handling panicked and asks for supervision. It runs on the actor's goroutine.
func (m *mailbox) failed(cause any) {
	stack := debug.Stack()
	m.mu.Lock()
	m.counts.panics++
	m.broken = true
	m.mu.Unlock()
	msg := m.current
	m.current, m.lender = nil, 0
	handling := "none"
	if msg != nil {
		handling = reflect.TypeOf(msg).String()
	}
	m.owner.logger().Error("actor panicked", "message", handling, "error", cause, "stack", string(stack))
	if msg != nil {
		m.owner.abandon(msg, Panicked)
	}
	m.invoker.EscalateFailure(cause, nil)
}

// mayRestart notes a failure and reports whether another incarnation is allowed.
func (c *cell) mayRestart(now time.Time, cause any) bool {
	c.box.mu.Lock()
	defer c.box.mu.Unlock()
	recent := c.failures[:0]
	for _, t := range c.failures {
		if now.Sub(t) < c.within {
			recent = append(recent, t)
		}
	}
	c.failures = append(recent, now)
	if len(c.failures) > c.restarts {
		c.failure = cause
		return false
	}
	c.restarted++
	return true
}

// endedBy returns the panic that ended the actor, nil if it stopped in order.
func (c *cell) endedBy() any {
	c.box.mu.Lock()
	defer c.box.mu.Unlock()
	return c.failure
}

package kernel

import (
	"log/slog"
	"reflect"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// cell is the part of an actor that survives restarts.
type cell struct {
	system     *System
	parent     *cell  // nil for a top-level actor
	name, kind string // name is the full name
	order      uint64 // position in the order of spawning of all actors of the system
	restarts   int    // panics allowed within `within`
	within     time.Duration
	box        mailbox
	timers     *timerTarget
	stopped    chan struct{} // closed when the actor has stopped; nil unless it is a top-level actor
	log        atomic.Pointer[slog.Logger]
	effectLog  *slog.Logger             // SpawnOptions.Log
	recorder   atomic.Pointer[Recorder] // nil unless the actor's messages are recorded
	why        atomic.Pointer[string]   // reason for stopping; nil until the first stop

	// Used only by the actor's goroutine and the one that spawns it.
	children     map[string]*cell // by full name
	incarnations uint32           // number of incarnations so far

	// Guarded by box.mu.
	failures  []time.Time // times of the last panic and of those less than within before it
	restarted int         // total number of restarts
	failure   any         // value of the panic that ended the actor; nil = none has
}

// timerTarget is a timer's only reference to its actor, so that a pending timer does not keep a stopped actor in memory.
type timerTarget struct{ to atomic.Pointer[cell] } // nil once the actor has stopped

func newTimerTarget(to *cell) *timerTarget {
	d := new(timerTarget)
	d.to.Store(to)
	return d
}

// stop makes the actor stop. The message Stopping carries the first reason given. Any goroutine may call stop.
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

// abandon calls the message's Abandon, if it has one. A panic in Abandon is a bug in the message and must not affect
// the actor.
func (c *cell) abandon(msg any, why Reason) {
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

// failed handles a panic with the value cause. It abandons the message being handled, unless it is one of protoactor's
// own, and escalates to the supervisor. It runs on the actor's goroutine.
func (m *mailbox) failed(cause any) {
	stack := debug.Stack()
	m.mu.Lock()
	m.counts.panics++
	m.broken = true
	m.mu.Unlock()
	msg := m.current
	m.current, m.caller = nil, 0
	handling := "none"
	if msg != nil {
		handling = reflect.TypeOf(msg).String()
		if r := m.owner.recorder.Load(); r != nil {
			r.record(m.owner, time.Now(), msg, nil, PhasePanicked)
		}
	}
	m.owner.logger().Error("actor panicked", "message", handling, "error", cause, "stack", string(stack))
	if msg != nil {
		m.owner.abandon(msg, Panicked)
	}
	m.invoker.EscalateFailure(cause, nil)
}

// mayRestart records a panic with the value cause and reports whether another incarnation is allowed.
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

// endedBy returns the value of the panic that ended the actor, or nil if no panic did.
func (c *cell) endedBy() any {
	c.box.mu.Lock()
	defer c.box.mu.Unlock()
	return c.failure
}

package kernel

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Self gives one incarnation of an actor access to the system. Stop, StopChild, SpawnChild, RunInline and Next must be
// called on the actor's own goroutine: in Act, or in the function that builds the Logic. The other methods may be called
// from any goroutine.
type Self struct{ incarnation *incarnation }

// incarnation is one life of an actor: from its start or a restart to its next restart or its stop.
type incarnation struct {
	cell    *cell
	number  uint32
	context actor.Context
	next    []any // queued by Next; used only by the actor's goroutine

	// Guarded by cell.box.mu.
	ctx    context.Context // passed to the functions of Go; created when first needed
	cancel context.CancelFunc
}

// Reference returns the actor's Reference.
func (s Self) Reference() Reference { return Reference{s.incarnation.cell} }

// Name returns the actor's full name.
func (s Self) Name() string { return s.incarnation.cell.name }

// System returns the actor's system.
func (s Self) System() *System { return s.incarnation.cell.system }

// Logger returns the system's logger with the attribute "actor".
func (s Self) Logger() *slog.Logger { return s.incarnation.cell.logger() }

// After sends msg to the actor itself after d, as an Outcome. If the incarnation has ended by then, msg is abandoned.
func (s Self) After(d time.Duration, msg any) {
	door, number := s.incarnation.cell.timers, s.incarnation.number
	s.incarnation.cell.system.after(s.Name(), d, func() {
		if c := door.to.Load(); c != nil {
			c.box.tellOwn(number, msg)
			return
		}
		abandon(msg, NotRunning)
	})
}

// Go runs f on a new goroutine and sends its result to the actor, as an Outcome; a nil result is not sent. ctx ends with
// the incarnation, after the effects of Stopping. A result after that is abandoned. If f panics, the actor receives
// GoPanicked. f must not use the actor's state. System.Stop waits for f.
func (s Self) Go(f func(ctx context.Context) any) {
	ctx := s.incarnation.begin()
	c := s.incarnation.cell
	c.system.goroutines.add()
	c.system.start(func() {
		defer c.system.goroutines.done()
		if result := s.incarnation.guarded(ctx, f); result != nil {
			c.system.afterStep(func() { c.box.tellOwn(s.incarnation.number, result) })
		}
	})
}

func (l *incarnation) guarded(ctx context.Context, f func(ctx context.Context) any) (result any) {
	defer func() {
		if cause := recover(); cause != nil {
			l.cell.logger().Error("goroutine of an actor panicked", "error", cause, "stack", string(debug.Stack()))
			result = GoPanicked{fmt.Errorf("panic: %v", cause)}
		}
	}()
	return f(ctx)
}

// begin returns the context of the incarnation.
func (l *incarnation) begin() context.Context {
	l.cell.box.mu.Lock()
	defer l.cell.box.mu.Unlock()
	if l.ctx == nil {
		l.ctx, l.cancel = context.WithCancel(context.Background())
	}
	return l.ctx
}

// end cancels the context of the incarnation. A later call of Go passes the canceled context.
func (l *incarnation) end() {
	l.begin()
	l.cancel()
}

// Next makes the actor handle msg after the current effects have been performed and before any queued message. It is for
// results of effects, which belong to the same step.
func (s Self) Next(msg any) { s.incarnation.next = append(s.incarnation.next, msg) }

// RunInline runs job on the goroutine that called TellInline with the message being handled, or with the message that
// caused it, once that goroutine has stopped running actors. job may block, because that goroutine waits for the answer
// anyway. RunInline returns false if there is no such goroutine, or if it is no longer available or already has a job.
// It must be called in Act.
func (s Self) RunInline(job Job) bool {
	m := &s.incarnation.cell.box
	return m.chain.setJob(m.caller, job)
}

// Stop stops the actor after the current message. Queued messages are abandoned.
func (s Self) Stop() { s.incarnation.cell.stop(WhyAsked) }

// StopChild stops a child of this actor after the child's current message; ChildStopped follows. If child is not a child of
// this actor, StopChild only logs a warning.
func (s Self) StopChild(child Reference) {
	if child.cell == nil || child.cell.parent != s.incarnation.cell {
		s.Logger().Warn("actor not stopped: it is not a child of this actor", "child", child.Name())
		return
	}
	child.cell.stop(WhyAsked)
}

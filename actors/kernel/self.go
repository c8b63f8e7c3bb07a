package kernel

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Self is how one incarnation of an actor acts on the world. Stop, StopChild, SpawnChild, Lend and Next are for the actor's own
// goroutine (Act, the function that makes the Logic); the rest is safe everywhere.
type Self struct{ life *life }

// life is one incarnation.
type life struct {
	cell    *cell
	number  uint32
	context actor.Context
	next    []any // of Next; touched by the actor's goroutine alone

	// Guarded by cell.box.mu.
	ctx    context.Context // of Go; made when first needed
	cancel context.CancelFunc
}

// Reference returns the actor's own.
func (s Self) Reference() Reference { return Reference{s.life.cell} }

// Name returns the actor's full name.
func (s Self) Name() string { return s.life.cell.name }

// System returns the system the actor lives in.
func (s Self) System() *System { return s.life.cell.system }

// Logger returns the system's logger with the attribute "actor".
func (s Self) Logger() *slog.Logger { return s.life.cell.logger() }

// After sends msg to the actor itself after d, as an Outcome. If the incarnation has ended by then, msg is abandoned.
func (s Self) After(d time.Duration, msg any) {
	door, number := s.life.cell.door, s.life.number
	s.life.cell.system.after(d, func() {
		if c := door.to.Load(); c != nil {
			c.box.tellOwn(number, msg)
			return
		}
		abandon(msg, Gone)
	})
}

// Go runs f on a goroutine of its own and sends what it returns to the actor, as an Outcome; nil sends nothing. ctx
// ends with the incarnation, after the effects of Stopping; a result after that is abandoned. If f panics the actor
// gets GoPanicked. f holds nothing of the actor but what it is given. System.Stop waits for f.
func (s Self) Go(f func(ctx context.Context) any) {
	ctx := s.life.begin()
	c := s.life.cell
	c.system.loose.add()
	go func() {
		defer c.system.loose.done()
		if result := s.life.guarded(ctx, f); result != nil {
			c.box.tellOwn(s.life.number, result)
		}
	}()
}

func (l *life) guarded(ctx context.Context, f func(ctx context.Context) any) (result any) {
	defer func() {
		if cause := recover(); cause != nil {
			l.cell.logger().Error("goroutine of an actor panicked", "error", cause, "stack", string(debug.Stack()))
			result = GoPanicked{fmt.Errorf("panic: %v", cause)}
		}
	}()
	return f(ctx)
}

// begin returns the context of the incarnation.
func (l *life) begin() context.Context {
	l.cell.box.mu.Lock()
	defer l.cell.box.mu.Unlock()
	if l.ctx == nil {
		l.ctx, l.cancel = context.WithCancel(context.Background())
	}
	return l.ctx
}

// end cancels the context of the incarnation, also for a Go that comes too late.
func (l *life) end() {
	l.begin()
	l.cancel()
}

// Next has the actor handle msg as soon as the effects at hand are carried out, before anything else that waits: what Do has to
// tell the state, such as the reference of a child that may have ended already. It is for Do.
func (s Self) Next(msg any) { s.life.next = append(s.life.next, msg) }

// Lend has job done on the goroutine that brought, by TellHere, what the actor is handling, as soon as the actors on it have done their
// part; it may wait there, so the one that waits for it is the one that asked. False: that goroutine is gone, or busy. It is for Act.
func (s Self) Lend(job Job) bool {
	m := &s.life.cell.box
	return m.chain.lend(m.lender, job)
}

// Stop ends the actor after the message being handled. What is queued is abandoned.
func (s Self) Stop() { s.life.cell.stop(WhyAsked) }

// StopChild ends a child of this actor after the message it is handling; ChildStopped follows. Other references are ignored.
func (s Self) StopChild(child Reference) {
	if child.cell == nil || child.cell.parent != s.life.cell {
		s.Logger().Warn("not a child, not stopped", "child", child.Name())
		return
	}
	child.cell.stop(WhyAsked)
}

package kernel

import (
	"runtime/debug"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// shell is one incarnation of an actor as protoactor sees it. It runs on the actor's goroutine.
type shell struct {
	cell  *cell
	build func(self Self) Logic
	self  Self     // valid after Started
	logic Logic    // nil before Started, and if build panicked
	out   []Effect // reused
	ended bool     // the incarnation has received Stopping
}

const effectsKeep = 1024 // a larger buffer of effects is released

// Receive implements actor.Actor.
func (h *shell) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		h.start(c)
	case *actor.Restarting:
		h.end(WhyRestarting)
	case *actor.Stopping:
		why := WhyAsked
		if w := h.cell.why.Load(); w != nil {
			why = *w
		}
		for _, child := range h.cell.children {
			child.why.CompareAndSwap(nil, &why)
		}
		h.end(why)
		h.cell.box.close(closing)
	case *actor.Stopped:
		h.cell.box.close(gone)
		h.cell.timers.to.Store(nil)
		if h.cell.parent == nil { // otherwise the parent does it, see childGone
			h.cell.system.unregister(h.cell)
		}
	case *actor.Terminated:
		h.childGone(m.Who.Id)
	default:
		h.step(m)
	}
}

func (h *shell) start(c actor.Context) {
	h.cell.incarnations++
	h.self = Self{&incarnation{cell: h.cell, number: h.cell.incarnations, context: c}}
	h.cell.box.begin(h.cell.incarnations)
	h.logic = h.build(h.self)
	h.step(Started{})
}

// step passes msg to the Logic and performs the effects. Then it does the same for the messages queued with Self.Next.
// If there is no Logic, step does nothing.
func (h *shell) step(msg any) {
	if h.logic == nil {
		return
	}
	now := time.Now()
	out := h.logic.Step(now, msg, h.out[:0])
	if r := h.cell.recorder.Load(); r != nil {
		r.record(h.cell, now, msg, out, phaseOf(h.logic))
	}
	for _, e := range out {
		h.perform(e)
	}
	clear(out)
	if cap(out) > effectsKeep {
		out = nil
	}
	h.out = out
	for l := h.self.incarnation; len(l.next) > 0; {
		msg := l.next[0]
		l.next = l.next[1:]
		h.step(msg)
	}
}

// end passes Stopping to the Logic and cancels the incarnation's context. Further calls do nothing. A panic in the
// Logic must not prevent the actor from stopping.
func (h *shell) end(why string) {
	if h.ended {
		return
	}
	defer func() {
		if cause := recover(); cause != nil {
			h.cell.logger().Error("actor panicked while stopping", "error", cause, "stack", string(debug.Stack()))
		}
		h.ended = true
		if h.self.incarnation != nil {
			h.self.incarnation.end()
		}
	}()
	h.step(Stopping{why})
}

// childGone reports that a child has stopped. Until then its name stays taken: the end of a child is known by its name, so
// a new child of that name would be taken for the one that has stopped.
func (h *shell) childGone(name string) {
	child, ok := h.cell.children[name]
	if !ok {
		return
	}
	delete(h.cell.children, name)
	h.cell.system.unregister(child)
	if h.ended || h.cell.box.isBroken() {
		return
	}
	h.step(ChildStopped{Child: Reference{child}, Name: name, Err: child.endedBy()})
}

package kernel

import (
	"runtime/debug"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// shell is one incarnation of an actor as protoactor sees it. All of it runs on the actor's goroutine.
type shell struct {
	cell  *cell
	build func(self Self) Logic
	self  Self     // valid from Started on
	logic Logic    // nil before Started, and when build panicked
	out   []Effect // reused
	ended bool     // had its Stopping: the mailbox holds back what is queued
}

const effectsKeep = 1024 // a larger buffer of effects is given back

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
		h.cell.door.to.Store(nil)
		h.cell.system.leave(h.cell)
	case *actor.Terminated:
		h.childGone(m.Who.Id)
	default:
		h.step(m)
	}
}

func (h *shell) start(c actor.Context) {
	h.cell.lives++
	h.self = Self{&life{cell: h.cell, number: h.cell.lives, context: c}}
	h.cell.box.begin(h.cell.lives)
	h.logic = h.build(h.self)
	h.step(Started{})
}

// step hands msg to the logic and carries out the effects.
func (h *shell) step(msg any) {
	if h.logic == nil {
		return
	}
	out := h.logic.Step(time.Now(), msg, h.out[:0])
	for _, e := range out {
		h.perform(e)
	}
	clear(out)
	if cap(out) > effectsKeep {
		out = nil
	}
	h.out = out
	for l := h.self.life; len(l.next) > 0; {
		msg := l.next[0]
		l.next = l.next[1:]
		h.step(msg)
	}
}

// end gives the logic its last message. A panic in there must not stop the stopping.
func (h *shell) end(why string) {
	if h.ended {
		return
	}
	defer func() {
		if cause := recover(); cause != nil {
			h.cell.logger().Error("actor panicked while stopping", "error", cause, "stack", string(debug.Stack()))
		}
		h.ended = true
		if h.self.life != nil {
			h.self.life.end()
		}
	}()
	h.step(Stopping{why})
}

func (h *shell) childGone(name string) {
	child, ok := h.cell.children[name]
	if !ok {
		return
	}
	delete(h.cell.children, name)
	if h.ended || h.cell.box.isBroken() {
		return
	}
	h.step(ChildStopped{Child: Reference{child}, Name: name, Err: child.endedBy()})
}

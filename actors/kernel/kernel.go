package kernel

import (
	"errors"
	"reflect"
	"time"
)

// ErrGone is returned by TellWait if the actor has stopped or never existed. The message was not accepted.
var ErrGone = errors.New("actor is gone")

// Class determines what may happen to a message when its receiver is busy.
type Class uint8

// The message classes. docs/actors.md describes their use.
const (
	Work    Class = iota // the default: abandoned with Overloaded when the mailbox or its lane is full
	Outcome              // always accepted; the number of operations in progress bounds it
	State                // always accepted; replaces a queued message with the same key, at its position
	LogLine              // at most logLimit, and a limited number of bytes, are queued in a lane; beyond that the oldest in the lane, or the new one, is dropped and counted
	Urgent               // always accepted; overtakes all other classes
	Step                 // replaces the newest queued message of its key only if stepLimit of them, or too many bytes, are queued; may be dropped if too many bytes are queued
)

// String returns the name of the class.
func (c Class) String() string {
	return [...]string{"work", "outcome", "state", "log", "urgent", "step"}[c]
}

// Reason says why a message was abandoned.
type Reason string

// The reasons for abandoning a message. They appear in error texts.
const (
	Overloaded      Reason = "overloaded"     // the mailbox or its lane is full, or too many bytes are queued
	ReceiverStopped Reason = "stopped"        // the actor is stopping, or it stopped while the message was queued; for a timer or a result of Go, the incarnation has ended
	NotRunning      Reason = "gone"           // the actor has stopped or never existed
	Panicked        Reason = "internal error" // the actor panicked while it handled the message
	Superseded      Reason = "superseded"     // a newer State or Step message with the same key replaced it
)

// Classed is implemented by messages of a class other than Work.
type Classed interface{ Class() Class }

// Observation is implemented by messages that only observe an actor. Info does not count them and a Recorder does not
// keep them, because otherwise both would mostly show the observer's own requests.
type Observation interface{ Observation() }

// Abandoner is implemented by messages whose sender waits for an answer. Abandon is called at most once, on any
// goroutine, if the message will not be handled or its handler panicked. It must not block.
type Abandoner interface{ Abandon(Reason) }

// Keyed may be implemented by State and Step messages. Key returns a comparable value. Without it, the key is the
// message's type.
type Keyed interface{ Key() any }

// Logic is the behavior of an actor. Its methods are called by one goroutine at a time, in the order of the messages.
//
// Step applies msg to the state at the time now and appends the resulting effects to out. It does no I/O, reads no clock
// and starts no goroutine. Act performs one of the Logic's own effects. It must not block. A panic in either, or in the
// function that builds the Logic, ends the incarnation (see SpawnOptions).
type Logic interface {
	Step(now time.Time, msg any, out []Effect) []Effect
	Act(self Self, act any)
}

// Started is the first message of each incarnation.
type Started struct{}

// Stopping is the last message of each incarnation that has a Logic, so that Step can answer all pending requests. It is
// also delivered after a panic, with the state as the panic left it. If the actor stops, the effects of Step are performed
// before the queued messages are abandoned. If it restarts, the next incarnation handles the queued messages.
type Stopping struct{ Reason string }

// The values of Stopping.Reason. The children of a stopping actor receive its reason.
const (
	WhyAsked      = "stopped"       // Self.Stop or StopChild; also for the children of a restarting actor
	WhyRestarting = "restarting"    // after a panic; a new incarnation follows
	WhyFailed     = "failed"        // after a panic, with no restart left
	WhyShutdown   = "shutting down" // System.Stop
)

// ChildStopped reports to a parent that a child has stopped. The parent receives it once for each child, except while
// the parent itself is stopping or restarting. Err is the value of the child's last panic if that ended it, else nil.
// ChildStopped overtakes the messages queued in the parent's mailbox, so messages of the child may arrive after it.
type ChildStopped struct {
	Child Reference
	Name  string // the child's full name
	Err   any
}

// GoPanicked is the result of a function passed to Self.Go that panicked.
type GoPanicked struct{ Err error }

func classOf(msg any) Class {
	if c, ok := msg.(Classed); ok {
		return c.Class()
	}
	return Work
}

func keyOf(msg any) any {
	if k, ok := msg.(Keyed); ok {
		return k.Key()
	}
	return reflect.TypeOf(msg)
}

func abandon(msg any, why Reason) {
	if a, ok := msg.(Abandoner); ok {
		a.Abandon(why)
	}
}

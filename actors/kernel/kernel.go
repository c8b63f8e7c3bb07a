package kernel

import (
	"errors"
	"reflect"
	"time"
)

// ErrGone is returned by TellWait when the actor has stopped or never existed: the message was not taken.
var ErrGone = errors.New("actor is gone")

// Class says what may happen to a message when its receiver is busy (docs/architecture.md, message classes).
type Class uint8

// The classes of messages; docs/architecture.md says what each is for.
const (
	Work    Class = iota // the default: refused with Abandon(Overloaded) when the mailbox is full
	Outcome              // always admitted: the work in flight bounds it
	State                // always admitted; replaces, in its place, a queued one with the same key
	LogLine              // beyond a bound the oldest queued LogLine is dropped and counted
	Urgent               // always admitted, and overtakes everything that is not Urgent
	Step                 // like State, but of many with the same key only the newest is replaced: who is quick enough gets each
)

// Why tells a message the reason it will never be handled.
type Why string

// The reasons for which a message is abandoned; people read them.
const (
	Overloaded Why = "overloaded"     // the mailbox was full
	StoppedWhy Why = "stopped"        // the actor stopped while the message was queued, or is stopping
	Gone       Why = "gone"           // the actor has stopped, or never was
	Panicked   Why = "internal error" // the actor panicked while it handled the message
	Superseded Why = "superseded"     // a newer State message with the same key took its place
)

// Classed is a message that is not Work.
type Classed interface{ Class() Class }

// Glance is a message that only looks at an actor, for people: Info neither counts it nor names it as the last one.
// Otherwise whoever looks sees little but himself.
type Glance interface{ Glance() }

// Abandoner is a message somebody waits for. Abandon is called at most once, on any goroutine, and only
// when the message will never be handled (or its handler panicked); it must not block.
type Abandoner interface{ Abandon(Why) }

// Keyed is a State or Step message; Key returns a comparable value. One without Key has its type as key.
type Keyed interface{ Key() any }

// Logic is what an actor does. All its methods are called by one goroutine at a time, in the order of the messages.
//
// Step applies msg to the state at the time now and appends to out what is to be done about it. It does no I/O,
// reads no clock, starts no goroutine. Act carries out one act of its own and never blocks. A panic in either, or in the
// function that made the Logic, ends the incarnation (see SpawnOptions).
type Logic interface {
	Step(now time.Time, msg any, out []Effect) []Effect
	Act(self Self, act any)
}

// Started is the first message of each incarnation.
type Started struct{}

// Stopping is the last message of each incarnation: Step answers all that is pending. Its effects are done
// before the messages still queued are abandoned. After a panic it comes too, on the state as the panic left it.
type Stopping struct{ Why string }

// The values of Stopping.Why.
const (
	WhyAsked      = "stopped"       // Self.Stop, StopChild, or the parent stopped
	WhyRestarting = "restarting"    // a panic; a new incarnation follows
	WhyFailed     = "failed"        // a panic, and no restart is left
	WhyShutdown   = "shutting down" // System.Stop
)

// ChildStopped tells a parent, exactly once, that a child is no more. Err is the value of the child's last
// panic if that is what ended it, else nil. A parent that is stopping or restarting itself is not told. It overtakes what waits
// in the parent's mailbox: messages of the child may come after it.
type ChildStopped struct {
	Child Reference
	Name  string // the child's full name
	Err   any
}

// GoPanicked is the result of a function given to Self.Go that panicked.
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

func abandon(msg any, why Why) {
	if a, ok := msg.(Abandoner); ok {
		a.Abandon(why)
	}
}
